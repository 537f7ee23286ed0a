// A buffer of a NumPy array. The buffer protocol takes read-only and strided arrays as they are.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace steadyset {

class View {
 public:
  // An array whose numbers do not lie at multiples of their size, as slices of bytes may, is copied where it is
  // contiguous and only read; a strided one is left to whoever reads it.
  View(nanobind::handle array, int flags) : View(array, flags, true) {}
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() { PyBuffer_Release(&buffer_); }

  // For arrays that may be too large to copy: they are read by types that may lie anywhere.
  static View anywhere(nanobind::handle array, int flags) { return View(array, flags, false); }

  const Py_buffer& operator*() const { return buffer_; }
  const Py_buffer* operator->() const { return &buffer_; }
  int64_t count() const { return buffer_.itemsize ? buffer_.len / buffer_.itemsize : 0; }
  template <class T> T* as() const { return static_cast<T*>(copy_ ? static_cast<void*>(copy_.get()) : buffer_.buf); }

 private:
  View(nanobind::handle array, int flags, bool align) {
    if (PyObject_GetBuffer(array.ptr(), &buffer_, flags) != 0) throw nanobind::python_error();
    if (!align || aligned() || (flags & PyBUF_C_CONTIGUOUS) != PyBUF_C_CONTIGUOUS) return;
    try {
      if (flags & PyBUF_WRITABLE) throw std::invalid_argument("an array to be written must be aligned");
      copy_ = std::make_unique<double[]>(static_cast<size_t>(buffer_.len) / sizeof(double) + 1);
    } catch (...) {
      PyBuffer_Release(&buffer_);
      throw;
    }
    std::memcpy(copy_.get(), buffer_.buf, static_cast<size_t>(buffer_.len));
  }
  bool aligned() const {
    return buffer_.itemsize <= 1 || reinterpret_cast<uintptr_t>(buffer_.buf) % static_cast<uintptr_t>(buffer_.itemsize) == 0;
  }

  Py_buffer buffer_{};
  std::unique_ptr<double[]> copy_;
};

}  // namespace steadyset
