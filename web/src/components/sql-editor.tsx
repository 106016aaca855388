/** An editor for SQL with colours, and marks under errors. */
import { insertNewlineAndIndent } from "@codemirror/commands";
import { bracketMatching, StreamLanguage } from "@codemirror/language";
import { Prec } from "@codemirror/state";
import { keymap, lineNumbers, placeholder } from "@codemirror/view";
import { useRef } from "react";
import { useCodeEditor } from "./use-code-editor.ts";
import { type EditorProblem, useEditorMarks } from "./use-editor-marks.ts";

interface SqlEditorProps {
  readonly value: string;
  readonly label: string;
  readonly hint: string;
  readonly problems: readonly EditorProblem[];
  readonly onChange: (value: string) => void;
  readonly onRun: () => void;
}

const keywords =
  /^(?:ADVANCE|ALL|AND|AS|ASC|ATOMIC|BEGIN|BETWEEN|BY|CASE|CHECKPOINT|COMMIT|CREATE|DAY|DROP|ELSE|END|EXISTS|EXPLAIN|FALSE|FOR|FORMAT|FROM|GROUP|HARD|HAVING|HOUR|IF|IN|INNER|INTO|IS|JOIN|LEFT|LIMIT|LIKE|LOGICAL|MIN|MS|NOT|NULL|ON|OR|ORDER|OUTER|PAUSE|PHYSICAL|PREVIEW|QUERY|QUERIES|REPLACE|RESUME|RIGHT|SEC|SELECT|SET|SHOW|SINK|SINKS|SIZE|SLIDING|SOFT|SOURCE|SOURCES|THEN|TRUE|TUMBLING|TYPE|UNION|VIEW|VIEWS|WATERMARK|WHEN|WHERE|WINDOW|WITH|WORKER|WORKERS)\b/i;

/** A simple grammar: words, texts, numbers and comments. */
const sql = StreamLanguage.define<{ isInComment: boolean }>({
  startState: () => ({ isInComment: false }),
  token: (stream, state) => {
    if (state.isInComment) {
      state.isInComment = !stream.match(/^.*?\*\//);
      if (state.isInComment) stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match(/^--.*/)) return "comment";
    if (stream.match("/*")) {
      state.isInComment = true;
      return "comment";
    }
    if (stream.match(/^'(?:[^'\\]|\\.|'')*'?/)) return "string";
    if (stream.match(/^"[^"]*"?|^`[^`]*`?/)) return "propertyName";
    if (stream.match(/^\d+(?:\.\d+)?/)) return "number";
    if (stream.match(keywords)) return "keyword";
    if (stream.match(/^[A-Za-z_]\w*(?=\s*\()/)) return "variableName.function";
    if (!stream.match(/^\w+/)) stream.next();
    return null;
  },
});

export function SqlEditor({ value, label, hint, problems, onChange, onRun }: SqlEditorProps) {
  const run = useRef(onRun);
  run.current = onRun;
  const { host, editor } = useCodeEditor({
    value,
    label,
    onChange,
    extensions: () => [
      lineNumbers(),
      bracketMatching(),
      sql,
      Prec.high(
        keymap.of([
          {
            key: "Mod-Enter",
            run: () => {
              run.current();
              return true;
            },
          },
          { key: "Enter", run: insertNewlineAndIndent },
        ]),
      ),
      placeholder(hint),
    ],
  });
  useEditorMarks(editor, { problems, goTo: undefined });
  return <div ref={host} className="ql-editor sql-editor" />;
}
