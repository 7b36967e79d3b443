/* The runtime: device, context, stream, memory, event. The declarations are in cann.h. */
#ifndef LABKIT_INCLUDE_ACL_ACL_RT_H
#define LABKIT_INCLUDE_ACL_ACL_RT_H

#include "../../cann.h"

#endif /* LABKIT_INCLUDE_ACL_ACL_RT_H */
