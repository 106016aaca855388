/** A YAML editor with colours, and marks under errors. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "react";
import "../../../components/code-editor.css";
import { codeColours } from "../../../components/code-colours.ts";
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

/** Tab indents, so Escape leaves the editor. */
function leave(view: EditorView): boolean {
  view.contentDOM.blur();
  return true;
}

export function YamlEditor(props: YamlEditorProps) {
  const { value, label, isReadOnly, problems, onChange, goTo } = props;
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(undefined);
  const latest = useRef(onChange);
  latest.current = onChange;

  // Both before the next key: seen later, `value` is an old text, and would take back what was
  // typed meanwhile.
  // biome-ignore lint/correctness/useExhaustiveDependencies: made once; what changes goes in below.
  useLayoutEffect(() => {
    if (host.current === null) return undefined;
    const view = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          history(),
          lineNumbers(),
          yaml,
          syntaxHighlighting(codeColours),
          keymap.of([
            { key: "Escape", run: leave },
            indentWithTab,
            ...defaultKeymap,
            ...historyKeymap,
          ]),
          EditorState.tabSize.of(2),
          EditorState.readOnly.of(isReadOnly),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, "data-main-field": "" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    editor.current = view;
    return () => view.destroy();
  }, [isReadOnly]);

  useLayoutEffect(() => {
    const view = editor.current;
    if (view === undefined || view.state.doc.toString() === value) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    const view = editor.current;
    if (view === undefined) return;
    const end = view.state.doc.length;
    const marks = problems.map(({ from, to, message }) => ({
      from: Math.min(from, end),
      to: Math.min(Math.max(to, from), end),
      severity: "error" as const,
      message,
    }));
    view.dispatch(setDiagnostics(view.state, marks));
  }, [problems]);

  useEffect(() => {
    const view = editor.current;
    if (view === undefined || goTo === undefined) return;
    const anchor = Math.min(goTo.at, view.state.doc.length);
    view.dispatch({ selection: { anchor }, scrollIntoView: true });
    view.focus();
  }, [goTo]);

  return <div ref={host} className="ql-editor yaml-editor" />;
}
