#include <coracle/process/exit_status.hpp>

#include <cstring>

namespace coracle::process {

std::string exit_status::to_string() const {
    if (signal_ == 0) return "exited with " + std::to_string(code_);
    std::string text = "killed by ";
    if (const char* name = ::sigabbrev_np(signal_)) {
        text.append("SIG").append(name);
    } else {
        text.append("signal ").append(std::to_string(signal_));
    }
    if (core_dumped_) text += ", core dumped";
    return text;
}

}  // namespace coracle::process
