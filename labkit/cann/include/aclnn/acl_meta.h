/* Tensors, scalars, arrays, lists and the executor. The declarations are in cann.h. */
#ifndef LABKIT_INCLUDE_ACLNN_ACL_META_H
#define LABKIT_INCLUDE_ACLNN_ACL_META_H

#include "../../cann.h"

#endif /* LABKIT_INCLUDE_ACLNN_ACL_META_H */
