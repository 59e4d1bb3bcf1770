#pragma once

/// @file
/// Readers and writers over all that moves bytes.

#include <coracle/io/adapters.hpp>
#include <coracle/io/compress.hpp>
#include <coracle/io/copy.hpp>
#include <coracle/io/descriptor_stream.hpp>
#include <coracle/io/files.hpp>
#include <coracle/io/kernel_pipe.hpp>
#include <coracle/io/memory.hpp>
#include <coracle/io/memory_pipe.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/sink.hpp>
#include <coracle/io/source.hpp>
#include <coracle/io/standard_streams.hpp>
#include <coracle/io/streams.hpp>
#include <coracle/io/terminal.hpp>
#include <coracle/io/text_format.hpp>
#include <coracle/io/writer.hpp>
