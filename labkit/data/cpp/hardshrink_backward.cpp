// The gradient of HardShrink from a host program: gradOutput and self in, gradInput out.
//
// Built with CANN, or with the tree that `labkit sdk DIR` writes:
//   source DIR/set_env.sh
//   g++ -std=c++17 hardshrink_backward.cpp -I$ASCEND_HOME_PATH/include
//       -L$ASCEND_HOME_PATH/lib64 -lopapi_nn -lopapi_math -lascendcl -lnnopbase -o example

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_hardshrink_backward.h"

// Every call answers with a code; any but 0 ends the program with the library's words.
static void check(int code, const char *call)
{
    if (code == 0) {
        return;
    }
    const char *said = aclGetRecentErrMsg();
    throw std::runtime_error(std::string(call) + " returned " + std::to_string(code) +
                             (said ? std::string(": ") + said : std::string()));
}
#define CHECK(call) check((call), #call)

// Device memory that is freed with its owner.
class DeviceMemory {
public:
    explicit DeviceMemory(uint64_t bytes)
    {
        if (bytes > 0) { // aclrtMalloc refuses 0 bytes, and a call may need no workspace
            CHECK(aclrtMalloc(&address_, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        }
    }
    ~DeviceMemory()
    {
        if (address_ != nullptr) {
            aclrtFree(address_);
        }
    }
    DeviceMemory(const DeviceMemory &) = delete;
    DeviceMemory &operator=(const DeviceMemory &) = delete;
    void *get() const { return address_; }

private:
    void *address_ = nullptr;
};

// A float32 tensor on the device: memory, and the aclTensor that describes it.
class Tensor {
public:
    Tensor(const std::vector<int64_t> &shape, const std::vector<float> &values)
        : bytes_(values.size() * sizeof(float)), memory_(bytes_)
    {
        CHECK(aclrtMemcpy(memory_.get(), bytes_, values.data(), bytes_,
                          ACL_MEMCPY_HOST_TO_DEVICE));
        std::vector<int64_t> strides(shape.size(), 1);
        for (size_t axis = shape.size(); axis-- > 1;) {
            strides[axis - 1] = shape[axis] * strides[axis];
        }
        tensor_ = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(),
                                  0, ACL_FORMAT_ND, shape.data(), shape.size(),
                                  memory_.get());
        if (tensor_ == nullptr) {
            check(ACL_ERROR_FAILURE, "aclCreateTensor");
        }
    }
    ~Tensor() { aclDestroyTensor(tensor_); }
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
    aclTensor *get() const { return tensor_; }
    std::vector<float> read() const
    {
        std::vector<float> values(bytes_ / sizeof(float));
        CHECK(aclrtMemcpy(values.data(), bytes_, memory_.get(), bytes_,
                          ACL_MEMCPY_DEVICE_TO_HOST));
        return values;
    }

private:
    size_t bytes_;
    DeviceMemory memory_;
    aclTensor *tensor_ = nullptr;
};

static void run(aclrtStream stream)
{
    const std::vector<int64_t> shape = {2, 2};
    Tensor gradOutput(shape, {1, 1, 1, 1});
    Tensor self(shape, {0, 1, 2, 3});
    Tensor gradInput(shape, {9, 9, 9, 9});
    float lambd = 1.0f;
    aclScalar *scalar = aclCreateScalar(&lambd, ACL_FLOAT);

    // Phase 1 checks, plans and says how much workspace it needs. Nothing runs yet.
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(aclnnHardshrinkBackwardGetWorkspaceSize(gradOutput.get(), self.get(), scalar,
                                                  gradInput.get(), &workspaceSize,
                                                  &executor));
    DeviceMemory workspace(workspaceSize);

    // Phase 2 queues the kernels on the stream; the results are there after the wait.
    CHECK(aclnnHardshrinkBackward(workspace.get(), workspaceSize, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));

    const std::vector<float> result = gradInput.read();
    for (size_t i = 0; i < result.size(); ++i) {
        std::printf("result[%zu] is: %f\n", i, result[i]);
    }
    aclDestroyScalar(scalar);
}

int main()
{
    const int32_t device = 0;
    aclrtStream stream = nullptr;
    try {
        CHECK(aclInit(nullptr));
        CHECK(aclrtSetDevice(device));
        CHECK(aclrtCreateStream(&stream));
        run(stream);
        CHECK(aclrtDestroyStream(stream));
        CHECK(aclrtResetDevice(device));
        CHECK(aclFinalize());
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
