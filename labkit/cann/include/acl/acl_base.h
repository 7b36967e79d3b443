/* Handles, status codes, element types and formats. The declarations are in cann.h. */
#ifndef LABKIT_INCLUDE_ACL_ACL_BASE_H
#define LABKIT_INCLUDE_ACL_ACL_BASE_H

#include "../../cann.h"

#endif /* LABKIT_INCLUDE_ACL_ACL_BASE_H */
