#pragma once

#include <coracle/base/intrusive_list.hpp>
#include <coracle/net/address.hpp>
#include <coracle/runtime/clock.hpp>

#include <expected>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::net::detail {

using address_list = std::shared_ptr<const std::vector<address>>;
using verdict = std::expected<address_list, error>;

/// A question: a name in lower case and a family. Families lie side by side.
std::string question_key(std::string_view name, net::family wanted);

/// Answers, each for as long as it holds; of too many, those not used for longest go. A tree, not a
/// hash table: names may come from strangers, and nobody can make a tree slow.
class answer_cache {
public:
    explicit answer_cache(std::size_t most) noexcept : most_(most) {}

    /// Null when there is none that holds at `now`.
    const verdict* find(const std::string& key, time_point now);
    void keep(const std::string& key, const verdict& answer, time_point until);
    void clear() noexcept;
    std::size_t size() const noexcept { return entries_.size(); }

private:
    struct entry : list_hook {
        verdict answer;
        time_point until;
        const std::string* key = nullptr;
    };

    void drop(entry& e);

    std::size_t most_;
    std::map<std::string, std::unique_ptr<entry>, std::less<>> entries_;
    intrusive_list<entry> used_;  ///< the front was not used for longest
};

}  // namespace coracle::net::detail
