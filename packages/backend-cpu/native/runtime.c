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
