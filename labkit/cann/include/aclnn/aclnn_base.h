/* Start and end of the aclnn framework. The declarations are in cann.h. */
#ifndef LABKIT_INCLUDE_ACLNN_ACLNN_BASE_H
#define LABKIT_INCLUDE_ACLNN_ACLNN_BASE_H

#include "../../cann.h"

#endif /* LABKIT_INCLUDE_ACLNN_ACLNN_BASE_H */
