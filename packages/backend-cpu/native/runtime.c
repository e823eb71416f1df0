/* What compiled kernels call of Numba's runtime: memory with a count of its owners.

   The layout of a block's header is Numba's, since compiled code reads it: the count, the function that frees the
   block and its two arguments' places, the address and the size of the memory. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    size_t owners;
    void *free, *info;
    void *data;
    size_t size;
    void *allocator;
} Block;

static void *allocate(int64_t size, uint32_t align)
{
    if (size < 0) return NULL;
    if (align < 64) align = 64;
    size_t head = (sizeof(Block) + align - 1) / align * align, whole = (head + (size_t)size + align - 1) / align * align;
    char *memory = whole < (size_t)size ? NULL : aligned_alloc(align, whole);
    if (!memory) return NULL;
    Block *block = (Block *)memory;
    *block = (Block){.owners = 1, .data = memory + head, .size = (size_t)size};
    return block;
}

void *NRT_MemInfo_alloc(int64_t size) { return allocate(size, 0); }
void *NRT_MemInfo_alloc_safe(int64_t size) { return allocate(size, 0); }
void *NRT_MemInfo_alloc_aligned(int64_t size, uint32_t align) { return allocate(size, align); }
void *NRT_MemInfo_alloc_safe_aligned(int64_t size, uint32_t align) { return allocate(size, align); }
void *NRT_Allocate(size_t size) { return malloc(size); }
void NRT_Free(void *memory) { free(memory); }
void NRT_MemInfo_call_dtor(void *block) { free(block); }

/* Strides with which an array has other sizes without a copy: 0 if there are none.

   Sizes are cut into groups of old and new ones with equal products. The old ones of a group must follow each other in
   memory without gaps; then its new ones do. Sizes of 1 take part in none. */
int numba_attempt_nocopy_reshape(intptr_t rank, const intptr_t *sizes, const intptr_t *strides, intptr_t new_rank,
                                 const intptr_t *new_sizes, intptr_t *new_strides, intptr_t item, int by_columns)
{
    if (by_columns) return 0;
    intptr_t old = rank - 1, made = new_rank - 1;
    while (made >= 0 || old >= 0) {
        while (old >= 0 && sizes[old] == 1) old--;
        if (old < 0) {
            for (; made >= 0; made--) new_strides[made] = item;
            return 1;
        }
        intptr_t step = strides[old], product = sizes[old--], filled = 1;
        while (made >= 0 && (filled != product || new_sizes[made] == 1)) {
            new_strides[made] = step * filled;
            filled *= new_sizes[made--];
            while (filled > product) {
                while (old >= 0 && sizes[old] == 1) old--;
                if (old < 0 || strides[old] != step * product) return 0;
                product *= sizes[old--];
            }
        }
        if (filled != product) return 0;
    }
    return 1;
}
