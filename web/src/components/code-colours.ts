/** The classes of syntax parts; `code-editor.css` has their colours. */
import { HighlightStyle } from "@codemirror/language";
import { tags } from "@lezer/highlight";

export const codeColours: HighlightStyle = HighlightStyle.define([
  { tag: tags.keyword, class: "ql-keyword" },
  {
    tag: [tags.function(tags.variableName), tags.modifier, tags.operatorKeyword],
    class: "ql-function",
  },
  { tag: [tags.number, tags.integer, tags.float], class: "ql-number" },
  { tag: tags.string, class: "ql-string" },
  { tag: [tags.labelName, tags.propertyName], class: "ql-label" },
  { tag: tags.comment, class: "ql-comment" },
  { tag: tags.invalid, class: "ql-invalid" },
]);
