// The DOM interface of simdjson. The parser keeps its memory between runs, and the padded copy of the
// text is made outside the timing.
#include <simdjson.h>

#include "bench.h"

using namespace simdjson;

namespace
{

struct doc {
    dom::parser parser;
    padded_string text;
    doc(const char *p, size_t n) : text(p, n)
    {
    }
};

void *open_doc(const char *text, size_t n)
{
    return new doc(text, n);
}

int parse(void *d)
{
    doc *self = static_cast<doc *>(d);
    return self->parser.parse(self->text).error() ? -1 : 0;
}

void take_text(std::string_view s, sum *out)
{
    out->bytes += s.size() + (s.empty() ? 0 : static_cast<unsigned char>(s.back()));
}

void take(dom::element v, sum *out);

void take_array(dom::array array, sum *out)
{
    for (dom::element item : array)
        take(item, out);
}

void take_object(dom::object object, sum *out)
{
    for (dom::key_value_pair item : object)
        take(item.value, out);
}

void take(dom::element v, sum *out)
{
    switch (v.type()) {
    case dom::element_type::INT64:
        out->numbers += static_cast<double>(v.get_int64().value_unsafe());
        break;
    case dom::element_type::UINT64:
        out->numbers += static_cast<double>(v.get_uint64().value_unsafe());
        break;
    case dom::element_type::DOUBLE:
        out->numbers += v.get_double().value_unsafe();
        break;
    case dom::element_type::STRING:
        take_text(v.get_string().value_unsafe(), out);
        break;
    case dom::element_type::ARRAY:
        take_array(v.get_array().value_unsafe(), out);
        break;
    case dom::element_type::OBJECT:
        take_object(v.get_object().value_unsafe(), out);
        break;
    case dom::element_type::BOOL:
    case dom::element_type::NULL_VALUE:
        break;
    }
}

void take_call(dom::object call, sum *out)
{
    std::string_view version, method;
    dom::element item;
    if (call["jsonrpc"].get(version) || version != "2.0" || call["method"].get(method))
        return;
    out->calls++;
    take_text(method, out);
    if (!call["id"].get(item))
        take(item, out);
    if (!call["params"].get(item))
        take(item, out);
}

int use(void *d, sum *out)
{
    doc *self = static_cast<doc *>(d);
    dom::element root;
    dom::object call;
    if (self->parser.parse(self->text).get(root))
        return -1;
    if (!root.get(call)) {
        take_call(call, out);
        return 0;
    }
    dom::array items;
    if (root.get(items))
        return -1;
    for (dom::element item : items)
        if (!item.get(call))
            take_call(call, out);
        else
            take(item, out);
    return 0;
}

void close_doc(void *d)
{
    delete static_cast<doc *>(d);
}

} // namespace

extern "C" const lib lib_simdjson = {"simdjson", open_doc, parse, use, close_doc};
