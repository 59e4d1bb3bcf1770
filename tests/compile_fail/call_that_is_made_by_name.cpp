// expect: deleted
#include <coracle/http/client.hpp>

#include <utility>

coracle::http::full_response request(coracle::http::client& client) {
    auto call = client.get("http://localhost/");
#ifdef CORACLE_CONTROL
    return std::move(call).wait();
#else
    return call.wait();
#endif
}
