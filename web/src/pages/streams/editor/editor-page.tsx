/** Statements about streams to run here, rows to look at, and what became of them. */
import { Button } from "@mantine/core";
import { IconEye, IconPlayerPlay, IconPlayerStop } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type SqlRun, useSqlDraft, useSqlRun, useSqlSession } from "../../../api/sql-session.ts";
import { Card } from "../../../components/card.tsx";
import { Keys } from "../../../components/shortcuts.tsx";
import { SqlEditor } from "../../../components/sql-editor.tsx";
import { exampleText } from "../example.ts";
import { streamsKey } from "../use-streams.ts";
import { EditorResult } from "./editor-result.tsx";
import { canBePreviewed, placeText, rangeOf } from "./statement-texts.ts";

/** What the word PREVIEW moves a place by. */
const previewHead = "PREVIEW ";

const examples: readonly { readonly title: string; readonly text: string }[] = [
  { title: "A first query", text: exampleText },
  { title: "Look at rows", text: "SELECT ts, auction FROM bids LIMIT 20" },
  { title: "What there is", text: "SHOW QUERIES" },
];

interface Sent {
  readonly draft: string;
  /** The word in front of it that the draft does not have. */
  readonly head: string;
}

export function EditorPage() {
  const session = useSqlSession();
  const queries = useQueryClient();
  const run = useSqlRun();
  const draft = useSqlDraft();
  const [sent, setSent] = useState<Sent>();
  const isRunning = run.status === "running";
  const isBlank = draft.trim() === "";
  const problems = useProblems(run, draft, sent);
  const [problem] = problems;
  const submit = async (head = ""): Promise<void> => {
    if (isRunning || isBlank) return;
    setSent({ draft, head });
    await session.run(head + draft);
    await queries.invalidateQueries({ queryKey: streamsKey });
  };
  return (
    <Card title="Statements" className="stream-editor">
      <div className="card-body">
        <SqlEditor
          value={draft}
          label="Statements about streams"
          hint="CREATE QUERY … AS SELECT … INTO …; several statements are all of them or none"
          problems={problems}
          onChange={(text) => session.setDraft(text)}
          onRun={() => void submit()}
        />
        <div className="sql-bar">
          {isRunning ? (
            <Button
              variant="default"
              leftSection={<IconPlayerStop size={14} />}
              onClick={() => session.cancel()}
            >
              Stop looking
            </Button>
          ) : (
            <Button
              leftSection={<IconPlayerPlay size={14} />}
              disabled={isBlank}
              onClick={() => void submit()}
            >
              Run
            </Button>
          )}
          <Button
            variant="default"
            leftSection={<IconEye size={14} />}
            disabled={isRunning || !canBePreviewed(draft)}
            title="Shows the rows of a SELECT as they come, until you leave"
            onClick={() => void submit(previewHead)}
          >
            Preview rows
          </Button>
          <span className="dim sql-keys">
            <Keys keys="Ctrl Enter" />
          </span>
          <div className="sql-examples">
            {examples.map(({ title, text }) => (
              <button
                key={title}
                type="button"
                className="chip truncate"
                title={text}
                onClick={() => session.setDraft(text)}
              >
                {title}
              </button>
            ))}
          </div>
        </div>
      </div>
      <EditorResult run={run} place={problem && placeText(draft, problem.from)} />
    </Card>
  );
}

/** The mark under the error, for as long as the text is the one that was sent. */
function useProblems(run: SqlRun, draft: string, sent: Sent | undefined) {
  const { failure } = run;
  return useMemo(() => {
    if (failure === undefined || sent === undefined || sent.draft !== draft) return [];
    const range = rangeOf(sent.head + draft, failure);
    if (range === undefined) return [];
    const by = sent.head.length;
    const from = Math.max(0, range.from - by);
    return [{ from, to: Math.max(from, range.to - by), message: failure.message }];
  }, [failure, draft, sent]);
}
