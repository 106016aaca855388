/** For a cluster without continuous queries: what one is, and an example to run here. */
import { Button } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { runStatement } from "../../../api/run-statement.ts";
import { Card } from "../../../components/card.tsx";
import { CodeBlock } from "../../../components/code-block.tsx";
import { toastDone, toastFailed } from "../../../components/toasts.tsx";
import { example, exampleQuery, exampleText } from "../example.ts";
import { queryPath } from "../links.ts";
import { type Streams, streamsKey } from "../use-streams.ts";

export function FirstQuery({ streams }: { readonly streams: Streams }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const isFree = streams.sources.length === 0 && streams.sinks.length === 0;
  const creating = useMutation({
    mutationFn: () => runStatement(exampleText),
    onSuccess: () => {
      toastDone(exampleQuery, "Accepted. It is being deployed, and then runs until you stop it.");
      void navigate(queryPath(exampleQuery));
    },
    onError: (error) => toastFailed("Could not create the example", error),
    onSettled: () => queries.invalidateQueries({ queryKey: streamsKey }),
  });
  return (
    <Card title="Keep a query running" className="first-steps-card">
      <div className="card-body">
        <p className="first-intro">
          A continuous query reads sources for ever and writes what it finds to sinks. The workers
          run it, take checkpoints of it, and go on from the last one when one of them dies. Four
          statements make the first one, here or in <code className="mono">capstan sql</code>:
        </p>
        <ol className="first-steps">
          {example.map(({ title, sql }) => (
            <li key={title}>
              <strong>{title}</strong>
              <CodeBlock title={title} text={sql} />
            </li>
          ))}
        </ol>
        {isFree && (
          <Button
            leftSection={<IconPlayerPlay size={14} />}
            loading={creating.isPending}
            onClick={() => creating.mutate()}
          >
            Run all four
          </Button>
        )}
      </div>
    </Card>
  );
}
