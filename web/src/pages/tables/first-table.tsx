/**
 * For a lake without dynamic tables: what one is, and the statements for the first, which can be
 * run here.
 */
import { Button } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { runStatement } from "../../api/run-statement.ts";
import { Card } from "../../components/card.tsx";
import { CodeBlock } from "../../components/code-block.tsx";
import { toastDone, toastFailed } from "../../components/toasts.tsx";

interface Step {
  readonly title: string;
  readonly sql: string;
}

const steps: readonly Step[] = [
  {
    title: "A table",
    sql: "CREATE TABLE orders (id BIGINT, category VARCHAR, amount DECIMAL(10,2), at TIMESTAMP);",
  },
  {
    title: "Some rows",
    sql: "INSERT INTO orders VALUES\n  (1, 'books', 12.50, now()), (2, 'books', 7.20, now()), (3, 'tools', 31.00, now());",
  },
  {
    title: "What should stay fresh",
    sql: "CREATE DYNAMIC TABLE revenue TARGET_LAG = '30 seconds' AS\n  SELECT category, sum(amount) AS revenue, count(*) AS n\n  FROM orders GROUP BY category;",
  },
];

export function FirstTable({ hasTables }: { readonly hasTables: boolean }) {
  const queries = useQueryClient();
  const creating = useMutation({
    mutationFn: async () => {
      for (const { sql } of steps) await runStatement(sql.replace(/;$/, ""));
    },
    onSuccess: () =>
      toastDone("revenue", "Created. It is computed now, and kept fresh from now on."),
    onError: (error) => toastFailed("Could not create the example", error),
    onSettled: () => queries.invalidateQueries({ queryKey: ["tables"] }),
  });
  return (
    <Card title="Keep a query's result fresh" className="first-steps-card">
      <div className="card-body">
        <p className="first-intro">
          A dynamic table is a SELECT that stays fresh: it is computed again when what it reads has
          changed, incrementally where possible, so that it is never older than its target lag.
          Three statements make the first one, here or in <code className="mono">capstan sql</code>:
        </p>
        <ol className="first-steps">
          {steps.map((step) => (
            <FirstStep key={step.title} step={step} />
          ))}
        </ol>
        {!hasTables && (
          <Button
            leftSection={<IconPlayerPlay size={14} />}
            loading={creating.isPending}
            onClick={() => creating.mutate()}
          >
            Run all three
          </Button>
        )}
      </div>
    </Card>
  );
}

function FirstStep({ step: { title, sql } }: { readonly step: Step }) {
  return (
    <li>
      <strong>{title}</strong>
      <CodeBlock title={title} text={sql} />
    </li>
  );
}
