import { z } from 'zod'

// zod compiles its schemas for speed, and a page with a strict Content-Security-Policy reports each attempt. This must
// run before the first schema is created. Only the bundle does it, because the bundle has its own copy of zod.
z.config({ jitless: true })
