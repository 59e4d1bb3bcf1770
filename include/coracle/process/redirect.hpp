#pragma once

#include <coracle/runtime/owned_fd.hpp>

#include <string>
#include <utility>

namespace coracle::process {

/// The target of a standard stream of a process. Move-only.
class redirect {
public:
    enum class kind : unsigned char {
        unset,
        inherit,
        null,
        pipe,
        file,
        append,
        text,
        descriptor,
        output
    };

    /// The default: inherited, or the choice of the function that starts the process.
    redirect() noexcept = default;

    /// Leads to where our own stream leads.
    static redirect inherit() noexcept { return redirect(kind::inherit); }
    /// /dev/null: an input that has ended, an output that is dropped.
    static redirect null() noexcept { return redirect(kind::null); }
    /// A pipe, whose other end `child` has as a stream.
    static redirect pipe() noexcept { return redirect(kind::pipe); }
    /// A file, by its path as seen from our own current directory: an input is read from its start,
    /// an output is made (mode 0666 but for the umask) or emptied. With a FIFO, the program starts
    /// when its other end is open.
    static redirect file(std::string path) { return redirect(kind::file, std::move(path)); }
    /// A file that is made where it is not there, and written at its end. For outputs.
    static redirect append(std::string path) { return redirect(kind::append, std::move(path)); }
    /// An input of these bytes. They stand in a file of memory (memfd_create), so that no task has
    /// to write them.
    static redirect text(std::string bytes) { return redirect(kind::text, std::move(bytes)); }
    /// A descriptor, which is closed on our side when the process has been started.
    static redirect descriptor(owned_fd fd) noexcept {
        redirect r(kind::descriptor);
        r.fd_ = std::move(fd);
        return r;
    }
    /// Leads to where standard output leads (2>&1). For standard error.
    static redirect output() noexcept { return redirect(kind::output); }

    kind what() const noexcept { return kind_; }
    const std::string& value() const noexcept { return value_; }  ///< the path, the text
    int fd() const noexcept { return fd_.get(); }

private:
    explicit redirect(kind k) noexcept : kind_(k) {}
    redirect(kind k, std::string value) noexcept : kind_(k), value_(std::move(value)) {}

    kind kind_ = kind::unset;
    std::string value_;
    owned_fd fd_;
};

}  // namespace coracle::process
