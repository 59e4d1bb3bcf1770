#pragma once

#include <coracle/io/descriptor_stream.hpp>
#include <coracle/runtime/operation.hpp>

#include <memory>
#include <string>

namespace coracle::io {

/// Both ends of a kernel pipe.
struct kernel_pipe {
    std::unique_ptr<descriptor_stream> reader;
    std::unique_ptr<descriptor_stream> writer;
};

/// Makes a pipe whose ends belong to the current loop. They are closed on exec; to hand one end to
/// another program, give `process::command` a redirection instead. Throws `exception`
/// (errc::no_loop) on a thread without a loop.
std::expected<kernel_pipe, error> make_pipe();

/// The end of a FIFO to open.
enum class fifo_end : unsigned char { read, write };

/// Opens a FIFO that is there (mkfifo). The reader completes at once, and its first receive waits
/// for a writer; the writer completes when the FIFO has been opened for reading, which is checked
/// every few milliseconds. Resumes from the loop. Errors name the path; ENXIO is never one of them,
/// EINVAL says that the path is no FIFO. Cancelling it ends the wait.
operation<std::unique_ptr<descriptor_stream>> open_fifo(std::string path, fifo_end end);

}  // namespace coracle::io
