// Tells PyTorch that there is a GPU, so that autograd and the compiler accept fake tensors that claim to be on it.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

const c10::Device device{c10::DeviceType::CUDA, 0};
const c10::Stream stream{c10::Stream::DEFAULT, device};

struct Guard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
  c10::Device getDevice() const override { return device; }
  c10::Device exchangeDevice(c10::Device) const override { return device; }
  c10::Stream getStream(c10::Device) const noexcept override { return stream; }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream; }
};

struct Hooks final : at::CUDAHooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasCUDA() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  void init() const override {}
};

Guard guard;
Hooks hooks;

}  // namespace

extern "C" void pretend() {
  c10::impl::device_guard_impl_registry[static_cast<size_t>(device.type())].store(&guard);
  auto& theirs = const_cast<at::CUDAHooksInterface&>(at::detail::getCUDAHooks());
  *reinterpret_cast<void**>(&theirs) = *reinterpret_cast<void**>(&hooks);  // the table of its virtual functions
}
