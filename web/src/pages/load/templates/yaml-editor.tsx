/** A YAML editor with colours, and marks under errors. */
import { indentWithTab } from "@codemirror/commands";
import { StreamLanguage } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { keymap, lineNumbers } from "@codemirror/view";
import { useCodeEditor } from "../../../components/use-code-editor.ts";
import { useEditorMarks } from "../../../components/use-editor-marks.ts";
import type { TextProblem } from "./template-text.ts";

interface YamlEditorProps {
  readonly value: string;
  readonly label: string;
  readonly isReadOnly: boolean;
  readonly problems: readonly TextProblem[];
  readonly onChange: (value: string) => void;
  /** The place to go to; a new object goes there again. */
  readonly goTo: { readonly at: number } | undefined;
}

/** A simple grammar: a plain value is one piece, even when it is SQL. */
const yaml = StreamLanguage.define<{ depth: number }>({
  startState: () => ({ depth: 0 }),
  token: (stream, state) => {
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(/^[\w$.-]+(?=\s*:(\s|$))/)) return "propertyName";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?|^'(?:[^']|'')*'?/)) return "string";
    if (stream.match(/^(?:-?\d[\d_]*(?:\.\d+)?)(?=\s*(?:[,\]}#]|$))/)) return "number";
    if (stream.match(/^(?:true|false|null)(?=\s*(?:[,\]}#]|$))/)) return "keyword";
    const mark = stream.match(/^(?:[-:](?=\s|$)|[[\]{},])/) as RegExpMatchArray | null;
    if (mark !== null) {
      if ("[{".includes(mark[0])) state.depth += 1;
      else if ("]}".includes(mark[0])) state.depth = Math.max(0, state.depth - 1);
      return null;
    }
    if (!stream.match(state.depth > 0 ? /^[^,\]}#]+/ : /^(?:[^\s]|\s+(?![\s#]))+/)) stream.next();
    return null;
  },
});

export function YamlEditor(props: YamlEditorProps) {
  const { value, label, isReadOnly, problems, onChange, goTo } = props;
  const { host, editor } = useCodeEditor({
    value,
    label,
    isReadOnly,
    onChange,
    extensions: () => [lineNumbers(), yaml, keymap.of([indentWithTab]), EditorState.tabSize.of(2)],
  });

  useEditorMarks(editor, { problems, goTo });
  return <div ref={host} className="ql-editor yaml-editor" />;
}
