/** What a page tells an editor about its text: where it is wrong, and where to look. */
import { setDiagnostics } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import { type RefObject, useEffect } from "react";

export interface EditorProblem {
  /** Characters from the start of the text. */
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

interface EditorMarks {
  readonly problems: readonly EditorProblem[];
  /** The place to go to; a new object goes there again. */
  readonly goTo: { readonly at: number } | undefined;
}

export function useEditorMarks(
  editor: RefObject<EditorView | undefined>,
  { problems, goTo }: EditorMarks,
): void {
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
  }, [problems, editor]);

  useEffect(() => {
    const view = editor.current;
    if (view === undefined || goTo === undefined) return;
    const anchor = Math.min(goTo.at, view.state.doc.length);
    view.dispatch({ selection: { anchor }, scrollIntoView: true });
    view.focus();
  }, [goTo, editor]);
}
