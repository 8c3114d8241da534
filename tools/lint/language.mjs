/** Rejects the words of forbidden-words.mjs in comments, strings and templates, and so in logs, errors and test names. */
import { forbiddenWords } from './forbidden-words.mjs'

const plainEnglish = {
  meta: { type: 'suggestion', docs: { description: 'plain technical English in comments, strings and test names' } },
  create(context) {
    const check = (node, text) => {
      for (const { word } of forbiddenWords(text))
        context.report({ node, message: `"${word}": use the standard term (see CONTRIBUTING.md, "How we write").` })
    }
    return {
      Program: () => {
        for (const comment of context.sourceCode.getAllComments()) check(comment, comment.value)
      },
      Literal: (node) => typeof node.value === 'string' && check(node, node.value),
      TemplateElement: (node) => check(node, node.value.cooked ?? node.value.raw),
    }
  },
}

export default { meta: { name: 'language' }, rules: { 'plain-english': plainEnglish } }
