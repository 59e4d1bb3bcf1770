#include "transfer_orders.hpp"

#include "settings.hpp"
#include "shown_url.hpp"
#include "upload.hpp"
#include "url_glob.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/base/url.hpp>
#include <coracle/http/field_id.hpp>
#include <coracle/mime/disposition.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace coracle::tool {
namespace {

std::string with_scheme(const std::string& text) {
    const std::size_t scheme = text.find("://");
    const bool has_one = scheme != std::string::npos && scheme < text.find_first_of("/?#");
    // Such a text names no host "https": the library says what is wrong.
    const bool lacks_slash = text.starts_with("http:/") || text.starts_with("https:/");
    return has_one || lacks_slash ? text : "http://" + text;
}

std::string checksum_of(const std::string& text) {
    std::string small = text;
    for (char& c : small) {
        if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    }
    if (small.size() != 64 || small.find_first_not_of("0123456789abcdef") != std::string::npos) {
        throw failure("cannot read --sha256 '" + text + "': it must have 64 hexadecimal digits");
    }
    return small;
}

/// The names of files that are written to.
class taken_names {
public:
    /// Returns false if a file of this name would be one of those, be it only for a while.
    bool take(const std::string& name) {
        std::string path = path_of(name);
        if (is_taken(path)) return false;
        names_.insert(std::move(path));
        return true;
    }
    /// `name`, or with a number where that is taken.
    std::string unique(const std::string& name) {
        std::string one = name;
        // Those up to the last number are taken.
        for (unsigned& n = numbers_[name]; is_taken(path_of(one));) {
            one = name + '.' + std::to_string(++n);
        }
        return one;
    }

private:
    bool is_taken(const std::string& path) const {
        constexpr std::string_view part = ".part";
        // A device takes any number.
        if (path.starts_with("/dev/")) return false;
        return names_.contains(path) || names_.contains(path + std::string(part)) ||
               (path.ends_with(part) && names_.contains(path.substr(0, path.size() - part.size())));
    }

    /// One path for all names of a file: "f", "./f" and a link to it. There may be a million, most
    /// of them in one directory: that is looked at once.
    std::string path_of(const std::string& name) {
        namespace fs = std::filesystem;
        std::error_code unknown;
        const fs::path path(name);
        if (fs::is_symlink(path, unknown)) return canonical(path).string();
        fs::path place = path.has_parent_path() ? path.parent_path() : ".";
        if (place != given_place_) {
            place_ = canonical(place);
            given_place_ = std::move(place);
        }
        return (place_ / path.filename()).string();
    }
    static std::filesystem::path canonical(const std::filesystem::path& path) {
        std::error_code unknown;
        // A relative one whose first part is missing would stay as it is.
        const std::filesystem::path whole = std::filesystem::absolute(path, unknown);
        std::filesystem::path made = std::filesystem::weakly_canonical(whole, unknown);
        return unknown ? path : made;
    }

    std::unordered_set<std::string> names_;
    std::filesystem::path given_place_;  ///< the directory that was looked at last
    std::filesystem::path place_;        ///< its canonical path
    std::unordered_map<std::string, unsigned> numbers_;
};

/// Returns a name that was made of what others chose so that it is a file's, and not "-".
std::string as_file(std::string name) {
    return name == "-" ? "./-" : name;
}

/// Returns the file name for a URL.
std::string name_of(const std::string& text) {
    std::string name;
    if (const auto u = url::parse(text)) {
        const std::string_view path = u->path();
        const auto segment = percent_decode(path.substr(path.rfind('/') + 1));
        name = mime::safe_filename(segment.value_or(""));
    }
    // With a number and ".part" it is still a name: 255 bytes. Its end tells what it is.
    constexpr std::size_t longest = 240;
    if (name.size() > longest) name = mime::safe_filename(name.substr(name.size() - longest));
    return name.empty() ? "index.html" : as_file(name);
}

/// Returns a URL that asks for no credentials to be sent.
std::string without_user(const std::string& text) {
    auto u = url::parse(text, url_path::as_is);
    if (!u || !u->has_user()) return text;
    return std::string(u->remove_user().text());
}

/// Makes the orders from the arguments of a command, one after the other.
class order_list {
public:
    explicit order_list(const get_settings& s) : s_(s) {
        for (const std::string& text : s.urls) globs_.emplace_back(text, s.globbing);
        for (std::size_t i = 0; i != globs_.size(); ++i) {
            uploads_.push_back(uploads_of(s, i));
            all_ += globs_[i].size() * uploads_[i].size();
        }
        if (all_ > most) throw failure("more than a million transfers");
    }

    std::vector<transfer_order> make() {
        for (std::size_t i = 0; i != globs_.size(); ++i) {
            const url_glob& glob = globs_[i];
            if (i < s_.checksums.size() && glob.size() * uploads_[i].size() > 1) {
                throw failure("--sha256 is for one URL, and this one is a pattern of several");
            }
            for (const std::string& upload : uploads_[i]) {
                // Refuses the standard input, which is there once.
                if (glob.size() > 1 && !upload.empty()) check_upload(upload);
                for (std::size_t k = 0; k != glob.size(); ++k) add(i, glob.at(k), upload);
            }
        }
        return std::move(orders_);
    }

private:
    static constexpr std::size_t most = 1'000'000;

    /// The files that go to the URLs of the i-th argument; one without a name: none does.
    static std::vector<std::string> uploads_of(const get_settings& s, std::size_t i) {
        std::vector<std::string> paths;
        if (i >= s.uploads.size()) return {""};
        const url_glob glob(s.uploads[i], s.globbing);
        for (std::size_t k = 0; k != glob.size(); ++k) {
            paths.push_back(glob.at(k).url);
            check_upload(paths.back());
        }
        return paths;
    }

    void add(std::size_t i, const url_glob::match& m, const std::string& upload) {
        transfer_order o;
        o.upload = upload;
        o.url = with_scheme(m.url);
        if (!o.upload.empty()) o.url = upload_url(o.url, o.upload);
        o.shown = without_secrets(o.url);
        if (leaves_out_authorization()) o.url = without_user(o.url);
        o.output = output_of(i, o.url, m.values);
        if (i < s_.checksums.size()) o.checksum = checksum_of(s_.checksums[i]);
        o.any_bytes = o.output != "-" || !s_.outputs.empty() || ::isatty(STDOUT_FILENO) == 0;
        if (o.output.empty()) throw failure("--output needs the name of a file");
        if (o.output != "-") {
            if (!taken_.take(o.output)) {
                throw failure("two responses would be written to '" + o.output +
                              "': give each an --output of its own, such as 'name_#1' for the "
                              "first pattern of a URL");
            }
        }
        orders_.push_back(std::move(o));
    }

    bool leaves_out_authorization() const {
        return std::ranges::any_of(s_.left_out, [](const std::string& name) {
            return http::find_field_id(name) == http::field_id::authorization;
        });
    }

    std::string output_of(std::size_t i, const std::string& url,
                          const std::vector<std::string>& values) {
        if (i < s_.outputs.size()) {
            const std::string& given = s_.outputs[i];
            if (!s_.globbing || given == "-") return given;
            return as_file(with_values(given, values));
        }
        // One "-" is for all.
        if (s_.outputs.size() == 1 && s_.outputs[0] == "-") return "-";
        const bool several = all_ > 1 && s_.uploads.empty();
        const bool whole = several || (s_.resume && !s_.resume_from);
        const bool to_file = s_.name_from_url || (whole && !s_.head);
        return to_file ? taken_.unique(name_of(url)) : "-";
    }

    const get_settings& s_;
    std::vector<url_glob> globs_;
    std::vector<std::vector<std::string>> uploads_;  ///< of each of them
    std::size_t all_ = 0;
    std::vector<transfer_order> orders_;
    taken_names taken_;
};

[[noreturn]] void refuse_both(const char* one, const char* other) {
    throw failure(std::string(one) + " and " + other + " cannot be used together");
}

/// Refuses options that do not go with resuming, which needs the whole file and nothing before it.
void check_resuming(const get_settings& s, bool is_on_output) {
    if (!s.resume) return;
    const auto together = [](const char* option) { refuse_both("--continue-at", option); };
    if (is_on_output && !s.resume_from) {
        throw failure("--continue needs a file: give one with -o FILE or -O");
    }
    if (s.include_head) together("--include");
    if (s.head || s.method == "HEAD") together("--head");
    if (!s.uploads.empty()) together("--upload-file");
    if (is_on_output && !s.checksums.empty()) together("--sha256 on standard output");
    const bool of_a_range = std::ranges::any_of(s.fields, [](const auto& f) {
        return http::find_field_id(f.first) == http::field_id::range;
    });
    if (of_a_range) together("--range");
}

/// Refuses options each of which would have to be the body.
void check_bodies(const get_settings& s) {
    const bool has_data = !s.bodies.empty() && !s.data_in_url;
    if (s.data_in_url && !s.parts.empty()) refuse_both("--get", "--form");
    if (has_data && !s.parts.empty()) refuse_both("--data", "--form");
    if (has_data && s.head) refuse_both("--data", "--head");
    if (!s.parts.empty() && s.head) refuse_both("--form", "--head");
    if (s.data_in_url && !s.uploads.empty()) refuse_both("--get", "--upload-file");
}

void check_uploads(const get_settings& s) {
    if (s.uploads.empty()) return;
    if (s.uploads.size() > s.urls.size()) throw failure("there are more --upload-file than URLs");
    const char* const other = !s.bodies.empty()  ? "--data"
                              : !s.parts.empty() ? "--form"
                              : s.head           ? "--head"
                                                 : nullptr;
    if (other != nullptr) refuse_both("--upload-file", other);
}

}  // namespace

std::vector<transfer_order> orders_of(const get_settings& s) {
    if (s.outputs.size() > s.urls.size()) throw failure("there are more --output than URLs");
    if (s.checksums.size() > s.urls.size()) throw failure("there are more --sha256 than URLs");
    check_bodies(s);
    check_uploads(s);
    std::vector<transfer_order> orders = order_list(s).make();
    const auto on_output = std::ranges::count(orders, "-", &transfer_order::output);
    if (on_output > 1 && s.parallel > 1 && !s.head) {
        throw failure(
            "responses that come at the same time would mix on standard output: "
            "leave --parallel away, or give them files with -O");
    }
    check_resuming(s, on_output != 0);
    return orders;
}

}  // namespace coracle::tool
