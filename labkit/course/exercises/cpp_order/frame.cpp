// One call of aclnnHardshrinkBackward on one of three inputs: dense, mixed or empty.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_hardshrink_backward.h"

static void check(int code, const char *call)
{
    if (code != 0) {
        const char *said = aclGetRecentErrMsg();
        std::fprintf(stderr, "%s returned %d %s\n", call, code, said ? said : "");
        std::exit(1);
    }
}
#define CHECK(call) check((call), #call)

struct Array {
    void *address = nullptr;
    size_t bytes = 0;
    aclTensor *tensor = nullptr;
};

static Array make(const std::vector<int64_t> &shape, aclDataType type, const void *values)
{
    Array made;
    std::vector<int64_t> strides(shape.size(), 1);
    size_t count = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
        strides[axis] = static_cast<int64_t>(count);
        count *= static_cast<size_t>(shape[axis]);
    }
    made.bytes = count * aclDataTypeSize(type);
    if (made.bytes > 0) {
        CHECK(aclrtMalloc(&made.address, made.bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMemcpy(made.address, made.bytes, values, made.bytes,
                          ACL_MEMCPY_HOST_TO_DEVICE));
    }
    made.tensor = aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0,
                                  ACL_FORMAT_ND, shape.data(), shape.size(), made.address);
    return made;
}

static void giveBack(const Array &array)
{
    CHECK(aclDestroyTensor(array.tensor));
    if (array.address != nullptr) {
        CHECK(aclrtFree(array.address));
    }
}

static void compute(const Array &gradOutput, const Array &self, const Array &gradInput,
                    aclrtStream stream)
{
    float lambd = 1.0f;
    aclScalar *scalar = aclCreateScalar(&lambd, ACL_FLOAT);
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(aclnnHardshrinkBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, scalar,
                                                  gradInput.tensor, &workspaceSize,
                                                  &executor));
    // ---- your lines ----
    CHECK(aclDestroyScalar(scalar));
}

int main(int count, char **words)
{
    const std::string input = count > 1 ? words[1] : "dense";
    const std::vector<float> ones(4, 1.0f), x = {0, 1, 2, 3}, nines(16, 9.0f);
    const std::vector<uint16_t> halves(4, 0x3c00); // 1 in float16
    aclrtStream stream = nullptr;
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    Array gradOutput, self, gradInput;
    if (input == "mixed") {
        gradOutput = make({4, 1}, ACL_FLOAT16, halves.data());
        self = make({1, 4}, ACL_FLOAT, x.data());
        gradInput = make({4, 4}, ACL_FLOAT, nines.data());
    } else {
        const std::vector<int64_t> shape = {input == "empty" ? 0 : 4};
        gradOutput = make(shape, ACL_FLOAT, ones.data());
        self = make(shape, ACL_FLOAT, x.data());
        gradInput = make(shape, ACL_FLOAT, nines.data());
    }
    compute(gradOutput, self, gradInput, stream);
    std::vector<float> result(gradInput.bytes / sizeof(float));
    if (!result.empty()) {
        CHECK(aclrtMemcpy(result.data(), gradInput.bytes, gradInput.address, gradInput.bytes,
                          ACL_MEMCPY_DEVICE_TO_HOST));
    }
    for (float value : result) {
        std::printf("%g ", value);
    }
    std::printf("\n");
    giveBack(gradOutput);
    giveBack(self);
    giveBack(gradInput);
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
