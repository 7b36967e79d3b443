// How many of four gradients live, for a row of thresholds. One thing is not given back.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "acl/acl.h"
#include "aclnnop/aclnn_hardshrink_backward.h"

static void check(int code, const char *call)
{
    if (code != 0) {
        std::fprintf(stderr, "%s returned %d\n", call, code);
        std::exit(1);
    }
}
#define CHECK(call) check((call), #call)

static aclrtStream stream;

static aclTensor *make(int64_t count, const float *values, void **address)
{
    const uint64_t bytes = 4 * static_cast<uint64_t>(count);
    const int64_t stride = 1;
    CHECK(aclrtMalloc(address, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(*address, bytes, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return aclCreateTensor(&count, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &count, 1, *address);
}

static int countLive(const aclTensor *grad, const aclTensor *self, float lambd, int64_t room)
{
    float result[4] = {9, 9, 9, 9};
    void *address = nullptr, *workspace = nullptr;
    aclTensor *gradInput = make(room, result, &address);
    aclScalar *scalar = aclCreateScalar(&lambd, ACL_FLOAT);
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    int live = 0;
    int status = aclnnHardshrinkBackwardGetWorkspaceSize(grad, self, scalar, gradInput,
                                                         &size, &executor);
    if (status != 0) {
        std::printf("refused: %d\n", status);
        aclDestroyTensor(gradInput);
        aclrtFree(address);
        return -1;
    }
    if (size > 0) {
        CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    CHECK(aclnnHardshrinkBackward(workspace, size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(result, sizeof result, address, sizeof result, ACL_MEMCPY_DEVICE_TO_HOST));
    for (float value : result) {
        live += value != 0;
    }
    if (workspace != nullptr) {
        CHECK(aclrtFree(workspace));
    }
    aclDestroyTensor(gradInput);
    aclrtFree(address);
    aclDestroyScalar(scalar);
    return live;
}

int main()
{
    const float ones[4] = {1, 1, 1, 1}, x[4] = {0, 1, 2, 3};
    void *onesAddress = nullptr, *xAddress = nullptr;
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    aclTensor *gradOutput = make(4, ones, &onesAddress);
    aclTensor *self = make(4, x, &xAddress);
    const float thresholds[] = {0.5f, 1.5f, 2.5f};
    for (float lambd : thresholds) {
        std::printf("lambd %g: %d live\n", lambd, countLive(gradOutput, self, lambd, 4));
    }
    countLive(gradOutput, self, 0.5f, 3); // room for three results only
    aclDestroyTensor(gradOutput);
    aclDestroyTensor(self);
    aclrtFree(onesAddress);
    aclrtFree(xAddress);
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
