/* Everything a host program needs of the runtime: include this one first. The declarations are in cann.h. */
#ifndef LABKIT_INCLUDE_ACL_ACL_H
#define LABKIT_INCLUDE_ACL_ACL_H

#include "../../cann.h"

#endif /* LABKIT_INCLUDE_ACL_ACL_H */
