/** A PromQL editor with completion, colours and marks under errors. */
import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import {
  defaultKeymap,
  history,
  historyKeymap,
  insertNewlineAndIndent,
} from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, forceLinting, linter } from "@codemirror/lint";
import { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { PromQLExtension } from "@prometheus-io/codemirror-promql";
import { useEffect, useLayoutEffect, useRef } from "react";
import { request } from "../../api/http.ts";
import "../../components/code-editor.css";
import { codeColours } from "../../components/code-colours.ts";

interface PromqlEditorProps {
  readonly value: string;
  readonly label: string;
  readonly onChange: (value: string) => void;
  readonly onRun: (value: string) => void;
  /** The API's error for the query, such as `1:5: parse error: …`. */
  readonly error: string | undefined;
}

/** Grafana's and Prometheus's own editors run on Enter; a new line is Shift-Enter. */
function runKeys(run: (view: EditorView) => boolean) {
  return Prec.high(
    keymap.of([
      { key: "Enter", run },
      { key: "Mod-Enter", run },
      { key: "Shift-Enter", run: insertNewlineAndIndent },
      { key: "Escape", run: leave },
    ]),
  );
}

/** Leaves the editor, so that shortcuts work again. */
function leave(view: EditorView): boolean {
  view.contentDOM.blur();
  return true;
}

/** Uses the page's token, and only addresses of its own coordinator. */
const fetchWithToken: typeof fetch = (input, init) => request(String(input), init);

function promqlExtension(): PromQLExtension {
  return new PromQLExtension().setComplete({
    remote: {
      url: window.location.origin,
      fetchFn: fetchWithToken,
      httpMethod: "GET",
      httpErrorHandler: () => undefined, // Completion works without names, too.
      cache: { maxAge: 30_000 },
    },
  });
}

const setFailure = StateEffect.define<string | undefined>();
const failure = StateField.define<string | undefined>({
  create: () => undefined,
  update: (before, { effects }) =>
    effects.reduce<string | undefined>(
      (current, effect) => (effect.is(setFailure) ? effect.value : current),
      before,
    ),
});

/**
 * The API's errors, as a linter of their own: the extension's linter would overwrite errors that
 * are set from outside.
 */
const failureMarks = linter((view) => diagnosticsOf(view, view.state.field(failure)), {
  needsRefresh: ({ startState, state }) => startState.field(failure) !== state.field(failure),
});

export function PromqlEditor({ value, label, onChange, onRun, error }: PromqlEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(undefined);
  const latest = useRef({ onChange, onRun });
  latest.current = { onChange, onRun };

  // Both before the next key: seen later, `value` is an old text, and would take back what was
  // typed meanwhile.
  // biome-ignore lint/correctness/useExhaustiveDependencies: made once; what changes goes in below.
  useLayoutEffect(() => {
    if (host.current === null) return undefined;
    const promql = promqlExtension();
    const view = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          history(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ icons: false }),
          syntaxHighlighting(codeColours),
          promql.asExtension(),
          failure,
          failureMarks,
          // Above the keys that run: Enter takes the completion that is offered.
          Prec.highest(keymap.of([...completionKeymap])),
          runKeys((current) => {
            latest.current.onRun(current.state.doc.toString());
            return true;
          }),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          placeholder("An expression, e.g. rate(capstan_work_accepted_total[5m])"),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, "data-main-field": "" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    editor.current = view;
    return () => {
      view.destroy();
      promql.destroy();
    };
  }, []);

  useLayoutEffect(() => {
    const view = editor.current;
    if (view === undefined || view.state.doc.toString() === value) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    const view = editor.current;
    if (view === undefined) return;
    view.dispatch({ effects: setFailure.of(error) });
    forceLinting(view);
  }, [error]);

  return <div ref={host} className="ql-editor" />;
}

/** The API counts bytes from 1; the editor counts characters from 0. */
function diagnosticsOf(view: EditorView, error: string | undefined): Diagnostic[] {
  const place = /(\d+):(\d+): parse error: (.*)/s.exec(error ?? "");
  if (place === null) return [];
  const lineNumber = Math.min(Number(place[1]), view.state.doc.lines);
  const line = view.state.doc.line(Math.max(1, lineNumber));
  const bytes = new TextEncoder().encode(line.text);
  const column = new TextDecoder().decode(bytes.subarray(0, Number(place[2]) - 1)).length;
  const end = view.state.doc.length;
  const from = Math.min(line.from + column, Math.max(0, end - 1));
  const word = /^[\w:.]+/.exec(view.state.sliceDoc(from))?.[0].length ?? 1;
  const to = Math.min(end, from + Math.max(1, word));
  return [{ from, to, severity: "error", message: place[3] ?? "" }];
}
