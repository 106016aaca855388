/** What all text editors have in common: CodeMirror with a value that the page holds. */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { type RefObject, useLayoutEffect, useRef } from "react";
import "./code-editor.css";
import { codeColours } from "./code-colours.ts";

interface CodeEditorOptions {
  readonly value: string;
  /** The accessible name. */
  readonly label: string;
  readonly isReadOnly?: boolean;
  readonly onChange: (value: string) => void;
  /**
   * Called once for each editor, so what it captures stays as it was at first. Its keys come before
   * the usual ones.
   */
  readonly extensions: () => Extension;
}

interface CodeEditor {
  /** The element that holds the editor. */
  readonly host: RefObject<HTMLDivElement | null>;
  readonly editor: RefObject<EditorView | undefined>;
}

/** Leaves the editor, so that shortcuts work again. */
function leave(view: EditorView): boolean {
  view.contentDOM.blur();
  return true;
}

export function useCodeEditor(options: CodeEditorOptions): CodeEditor {
  const { value, isReadOnly = false } = options;
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(undefined);
  const latest = useRef(options);
  latest.current = options;

  // Both before the next key: seen later, `value` is an old text, and would take back what was
  // typed meanwhile.
  useLayoutEffect(() => {
    if (host.current === null) return undefined;
    const { value: doc, label, extensions } = latest.current;
    const view = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc,
        extensions: [
          extensions(),
          history(),
          syntaxHighlighting(codeColours),
          keymap.of([{ key: "Escape", run: leave }, ...defaultKeymap, ...historyKeymap]),
          EditorState.readOnly.of(isReadOnly),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, "data-main-field": "" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
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

  return { host, editor };
}
