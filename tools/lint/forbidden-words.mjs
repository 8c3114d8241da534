/** Words that hide the standard terms that readers search for, and misspellings. */
const FORBIDDEN =
  /\b(?:told|tells?|anew|whoever|nobody|somebody|seen\s+to|brought\s+home|lest|so\s+many|can\s+not(?!\s+only)|for\s+good(?!\s+reason))\b/gi

/** A line break within a comment, with the marks that begin its next line. */
const LINE_BREAK = /\n[ \t]*(?:\*|\/\/|#)?/g

/** The forbidden words of a text, each with its offset; also where a line break separates two words of one entry. */
export const forbiddenWords = (text) =>
  [...text.replaceAll(LINE_BREAK, (gap) => `\n${' '.repeat(gap.length - 1)}`).matchAll(FORBIDDEN)].map(
    ({ 0: match, index }) => ({ word: match.replaceAll(/\s+/g, ' '), index }),
  )
