#pragma once

#include "smtp/client/core.hpp"
#include "smtp/client/transaction.hpp"
#include "smtp/outgoing_mail.hpp"

#include <coracle/smtp/sending.hpp>

#include <memory>

namespace coracle::smtp::detail {

/// The attempts of one mail by one route: a place, a connection, a transaction. Belongs to one
/// loop; what it is made of must outlive it.
class mail_attempt {
public:
    mail_attempt(client_shard& here, const message& m, const client_options& o,
                 std::shared_ptr<const route> by, std::size_t most_waiting, mail_progress& progress)
        : here_(here), mail_(m), options_(o), route_(std::move(by)), most_waiting_(most_waiting),
          pool_(here.pool_for(route_)), progress_(progress) {
        pool_.enter();
    }
    mail_attempt(const mail_attempt&) = delete;
    mail_attempt& operator=(const mail_attempt&) = delete;
    ~mail_attempt() { pool_.leave(); }

    task<std::expected<receipt, error>> run();

private:
    task<std::expected<void, error>> wait_for_place(place* here, transaction* t,
                                                    outgoing_mail* mail);
    task<std::expected<receipt, error>> send_over(place* here, transaction* t, outgoing_mail* mail,
                                                  bool reused);

    client_shard& here_;
    const message& mail_;
    const client_options& options_;
    std::shared_ptr<const route> route_;
    std::size_t most_waiting_;
    connection_pool& pool_;
    mail_progress& progress_;
};

}  // namespace coracle::smtp::detail
