#include "internal.h"

/* For languages that mirror these structs by hand and want to know before they crash. */
size_t sg_sizeof(const char *name)
{
    static const struct {
        const char *name;
        size_t size;
    } all[] = {
#define OF(type) {#type, sizeof(type)}
        OF(sg_error), OF(sg_box), OF(sg_message), OF(sg_stamp), OF(sg_frame), OF(sg_fused), OF(sg_fused_model),
        OF(sg_fused_missing), OF(sg_fused_box), OF(sg_vote), OF(sg_ring_config), OF(sg_doorbell), OF(sg_ring_writer),
        OF(sg_stream_info), OF(sg_ring_info), OF(sg_ring_reader), OF(sg_frame_reader),
#undef OF
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].size;
    return 0;
}
