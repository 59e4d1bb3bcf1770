// PostgreSQL by libpq without a thread: the connection is awaited by `readable` and `writable`.
//
//   postgres 'host=/run/postgresql dbname=shop' 'SELECT 1'
//
// Prints the rows with tabs between the columns. libpq does the protocol; Coracle only waits for
// its socket, and so could for any library that has a descriptor.

#include <coracle/runtime/readiness.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <libpq-fe.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

struct closing {
    void operator()(PGconn* c) const noexcept { PQfinish(c); }
    void operator()(PGresult* r) const noexcept { PQclear(r); }
};
using connection = std::unique_ptr<PGconn, closing>;
using result = std::unique_ptr<PGresult, closing>;

[[noreturn]] void fail(PGconn* c) {
    throw std::runtime_error(PQerrorMessage(c));
}

/// Connects without blocking (PostgreSQL manual, section 34.2, PQconnectPoll).
task<connection> connect_to(std::string where) {
    connection c(PQconnectStart(where.c_str()));
    if (c == nullptr || PQstatus(c.get()) == CONNECTION_BAD) fail(c.get());
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK) {
        if (next == PGRES_POLLING_FAILED) fail(c.get());
        // The socket may be another one after each step.
        if (next == PGRES_POLLING_WRITING) co_await writable(PQsocket(c.get()));
        if (next == PGRES_POLLING_READING) co_await readable(PQsocket(c.get()));
        next = PQconnectPoll(c.get());
    }
    if (PQsetnonblocking(c.get(), 1) != 0) fail(c.get());
    co_return c;
}

/// Sends a query and its parameters, and gives its last result.
task<result> query(PGconn* c, std::string text) {
    if (PQsendQuery(c, text.c_str()) != 1) fail(c);
    int left = PQflush(c);
    while (left == 1) {
        co_await writable(PQsocket(c));
        left = PQflush(c);
    }
    if (left != 0) fail(c);
    result last;
    for (;;) {
        while (PQisBusy(c) != 0) {
            co_await readable(PQsocket(c));
            if (PQconsumeInput(c) != 1) fail(c);
        }
        result one(PQgetResult(c));
        if (one == nullptr) break;
        // COPY begins a transfer, which is not for this program.
        const ExecStatusType begun = PQresultStatus(one.get());
        if (begun == PGRES_COPY_IN || begun == PGRES_COPY_OUT || begun == PGRES_COPY_BOTH) {
            throw std::runtime_error("COPY is not supported");
        }
        last = std::move(one);
    }
    const ExecStatusType status = PQresultStatus(last.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail(c);
    co_return last;
}

task<> print_rows(std::string where, std::string text) {
    const connection c = co_await connect_to(std::move(where));
    const result rows = co_await query(c.get(), std::move(text));
    for (int row = 0; row != PQntuples(rows.get()); ++row) {
        for (int column = 0; column != PQnfields(rows.get()); ++column) {
            std::cout << (column == 0 ? "" : "\t") << PQgetvalue(rows.get(), row, column);
        }
        std::cout << '\n';
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: postgres CONNECTION QUERY\n";
        return 2;
    }
    try {
        block_on([&]() -> task<> {
            // Cancelled by the limit, the task closes the connection on its way out.
            co_await with_timeout(10s, print_rows(argv[1], argv[2]));
        });
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
