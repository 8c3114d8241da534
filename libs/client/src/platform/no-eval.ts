import { z } from 'zod'

// Pages with a strict Content-Security-Policy report every attempt to compile code, which zod makes for speed
// unless told otherwise before the first schema is made. Only for the bundle, whose copy of zod is its own.
z.config({ jitless: true })
