/* The macros of json/shape.h for C++17, included by that header only. The type of a member comes
 * from templates instead of _Generic, and what follows the help text is written as
 * FUMI_SET(member, value) instead of `.member = value`. */
#ifndef FUMI_JSON_SHAPE_CXX_H
#define FUMI_JSON_SHAPE_CXX_H

template <class T> struct fumi_type_of {
    static constexpr enum fumi_type value = FUMI_T_OBJECT;
};
#define FUMI_TYPE_IS(T, type)                                                                      \
    template <> struct fumi_type_of<T> {                                                           \
        static constexpr enum fumi_type value = type;                                              \
    };
FUMI_TYPE_IS(bool, FUMI_T_BOOL)
FUMI_TYPE_IS(int64_t, FUMI_T_INT)
FUMI_TYPE_IS(double, FUMI_T_REAL)
FUMI_TYPE_IS(struct fumi_str, FUMI_T_STR)
FUMI_TYPE_IS(struct fumi_strs, FUMI_T_STRS)
FUMI_TYPE_IS(int, FUMI_T_CHOICE)
FUMI_TYPE_IS(const struct fumi_val *, FUMI_T_ANY)
FUMI_TYPE_IS(struct fumi_json, FUMI_T_JSON)
FUMI_TYPE_IS(struct fumi_list, FUMI_T_LIST)
FUMI_TYPE_IS(struct fumi_time, FUMI_T_TIME)
#undef FUMI_TYPE_IS

template <class... Set>
constexpr struct fumi_field fumi_field_of(const char *name, size_t name_n, size_t offset,
                                          enum fumi_type type, const char *help, Set... set)
{
    struct fumi_field f = {};
    f.name = name;
    f.name_n = name_n;
    f.help = help;
    f.offset = offset;
    f.type = type;
    (set(f), ...);
    return f;
}

#define FUMI_FIELD(T, member, wire, ...)                                                           \
    fumi_field_of((wire), sizeof(wire) - 1, offsetof(T, member),                                   \
                  fumi_type_of<decltype(static_cast<T *>(nullptr)->member)>::value, __VA_ARGS__)
#define FUMI_VALUE(T, member, ...)                                                                 \
    fumi_field_of(nullptr, 0, offsetof(T, member),                                                 \
                  fumi_type_of<decltype(static_cast<T *>(nullptr)->member)>::value, __VA_ARGS__)
#define FUMI_SET(member, value_) [](struct fumi_field &f_) { f_.member = (value_); }

#endif
