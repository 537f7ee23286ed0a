# Fails where the vector types of the kernels are unknown to the compiler. It runs by itself too:
# cmake -DCMAKE_CXX_COMPILER_ID=MSVC -P native/check_compiler.cmake
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$")
  message(FATAL_ERROR "steadyset is compiled by GCC, Clang or clang-cl, whose vector types it is written in; got "
    "${CMAKE_CXX_COMPILER_ID}. On Windows configure with -T ClangCL or -DCMAKE_CXX_COMPILER=clang-cl.")
endif()
