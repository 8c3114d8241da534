/**
 * Rejects the words of forbidden-words.mjs in comments, strings and templates, and so in logs, errors and test names, and
 * block comments without a subject.
 */
import { forbiddenWords } from './forbidden-words.mjs'

/** The beginning of a block comment that describes a thing without naming it. */
const HEADLESS = /^\*?\s*(?:\*\s*)?(Of|What|Who)\b/

const plainEnglish = {
  meta: { type: 'suggestion', docs: { description: 'plain technical English in comments, strings and test names' } },
  create(context) {
    const check = (node, text) => {
      for (const { word } of forbiddenWords(text))
        context.report({ node, message: `"${word}": use the standard term (see CONTRIBUTING.md, "How we write").` })
    }
    const checkSubject = (comment) => {
      const [, word] = (comment.type === 'Block' && HEADLESS.exec(comment.value)) || []
      if (word)
        context.report({ node: comment, message: `A comment begins with what it describes, not with "${word}".` })
    }
    return {
      Program: () => {
        for (const comment of context.sourceCode.getAllComments()) {
          check(comment, comment.value)
          checkSubject(comment)
        }
      },
      Literal: (node) => typeof node.value === 'string' && check(node, node.value),
      TemplateElement: (node) => check(node, node.value.cooked ?? node.value.raw),
    }
  },
}

export default { meta: { name: 'language' }, rules: { 'plain-english': plainEnglish } }
