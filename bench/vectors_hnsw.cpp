/* hnswlib as packaged by Debian. That version cannot filter during the search, so more results
 * are requested and those that do not pass are dropped. */
#include "vectors.h"

#include <hnswlib/hnswlib.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace
{

const size_t wide[] = {40, 80, 160, 320, 640, 1250, 2500, 5000, 10000, 20000};

struct graph {
    const vector_set *s;
    hnswlib::InnerProductSpace space{DIM};
    std::unique_ptr<hnswlib::HierarchicalNSW<float>> index;
};

void build(const vector_set *s, const char *file)
{
    hnswlib::InnerProductSpace space(DIM);
    hnswlib::HierarchicalNSW<float> index(&space, s->n, 16, 200);
    for (size_t i = 0; i < s->n; i++)
        index.addPoint(s->x + i * DIM, i);
    index.saveIndex(file);
}

void *open_graph(const vector_set *s, const char *file)
{
    auto g = new graph;
    g->s = s;
    g->index = std::make_unique<hnswlib::HierarchicalNSW<float>>(&g->space, std::string(file));
    return g;
}

size_t search(void *h, const float *query, uint32_t below, size_t effort, int64_t *out)
{
    auto g = static_cast<graph *>(h);
    size_t ef = std::min(wide[effort], g->s->n);
    g->index->setEf(ef);
    auto found = g->index->searchKnn(query, below < TAG_SETS ? ef : size_t{ANSWERS});
    std::vector<int64_t> near; /* nearest last */
    for (; !found.empty(); found.pop())
        if (g->s->tag_set[found.top().second] < below)
            near.push_back(static_cast<int64_t>(found.top().second));
    size_t n = std::min<size_t>(near.size(), ANSWERS);
    std::copy_n(near.rbegin(), n, out);
    return n;
}

void close_graph(void *h)
{
    delete static_cast<graph *>(h);
}

} // namespace

extern "C" const struct engine engine_hnsw = {"hnswlib",  std::size(wide), build,
                                              open_graph, search,          close_graph};
