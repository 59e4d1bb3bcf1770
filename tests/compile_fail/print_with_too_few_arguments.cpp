// expect: there_are_more_braces_than_arguments
#include <coracle/io/writer.hpp>

using namespace coracle;

task<> print(io::writer& out) {
#ifdef CORACLE_CONTROL
    co_await out.print("{} of {}\n", 1, 2);
#else
    co_await out.print("{} of {}\n", 1);
#endif
}
