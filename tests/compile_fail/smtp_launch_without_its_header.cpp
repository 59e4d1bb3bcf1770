// expect: #include <coracle/smtp/launch.hpp>
#include <coracle/smtp/client.hpp>
#ifdef CORACLE_CONTROL
#include <coracle/smtp/launch.hpp>
#endif

using namespace coracle;

void send(smtp::client& client, const smtp::message& mail) {
    auto receipt = client.send(mail).launch();
}
