// expect: deleted
#include <coracle/http/client.hpp>
#ifdef CORACLE_CONTROL
#include <coracle/http/nlohmann.hpp>
#endif

void request(coracle::http::client& client) {
    client.post("http://localhost/").json(3);
}
