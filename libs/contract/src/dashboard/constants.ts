/** Path of the dashboard: its page and files, and the routes that only it uses. */
export const DASHBOARD_PATH = '/service/dashboard'

/** Header of requests with side effects that a sign-in cookie authenticates: the `csrfToken` of the account. */
export const CSRF_HEADER = 'x-csrf-token'

/** Rows of one page of a table. */
export const PAGE_SIZE = 50
