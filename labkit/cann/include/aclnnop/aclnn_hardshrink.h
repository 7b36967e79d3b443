/* The two phases of the forward operator. The declarations are in cann.h. */
#ifndef LABKIT_INCLUDE_ACLNNOP_ACLNN_HARDSHRINK_H
#define LABKIT_INCLUDE_ACLNNOP_ACLNN_HARDSHRINK_H

#include "../../cann.h"

#endif /* LABKIT_INCLUDE_ACLNNOP_ACLNN_HARDSHRINK_H */
