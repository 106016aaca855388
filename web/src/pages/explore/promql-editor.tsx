/** A PromQL editor with completion, colours and marks under errors. */
import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { insertNewlineAndIndent } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { type Diagnostic, forceLinting, linter } from "@codemirror/lint";
import { Prec, StateEffect, StateField } from "@codemirror/state";
import { type EditorView, keymap, placeholder, ViewPlugin } from "@codemirror/view";
import { PromQLExtension } from "@prometheus-io/codemirror-promql";
import { useEffect, useRef } from "react";
import { request } from "../../api/http.ts";
import { useCodeEditor } from "../../components/use-code-editor.ts";

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
    ]),
  );
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
  const run = useRef(onRun);
  run.current = onRun;
  const { host, editor } = useCodeEditor({
    value,
    label,
    onChange,
    extensions: () => {
      const promql = promqlExtension();
      return [
        bracketMatching(),
        closeBrackets(),
        autocompletion({ icons: false }),
        promql.asExtension(),
        ViewPlugin.define(() => ({ destroy: () => promql.destroy() })),
        failure,
        failureMarks,
        // Above the keys that run: Enter takes the completion that is offered.
        Prec.highest(keymap.of([...completionKeymap])),
        runKeys((view) => {
          run.current(view.state.doc.toString());
          return true;
        }),
        placeholder("An expression, e.g. rate(capstan_work_accepted_total[5m])"),
      ];
    },
  });

  useEffect(() => {
    const view = editor.current;
    if (view === undefined) return;
    view.dispatch({ effects: setFailure.of(error) });
    forceLinting(view);
  }, [error, editor]);

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
