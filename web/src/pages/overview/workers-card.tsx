/** Workers by condition: a bar, and the same in words. */
import { Anchor, Skeleton } from "@mantine/core";
import { IconServerOff } from "@tabler/icons-react";
import { Link } from "react-router";
import type { Worker } from "../../api/gen/types.ts";
import { type Condition, conditionOf } from "../../api/worker-condition.ts";
import { Card } from "../../components/card.tsx";
import { Empty } from "../../components/empty.tsx";
import { ConditionSign } from "../../components/state-sign.tsx";

const conditions: readonly Condition[] = ["active", "draining", "unreachable"];

export function WorkersCard({ workers }: { readonly workers: readonly Worker[] | undefined }) {
  return (
    <Card
      title="Workers"
      aside={
        <Anchor component={Link} to="/workers" size="xs">
          All workers
        </Anchor>
      }
    >
      <div className="card-body">
        {workers === undefined ? <Skeleton height={104} /> : <Known workers={workers} />}
      </div>
    </Card>
  );
}

function Known({ workers }: { readonly workers: readonly Worker[] }) {
  if (workers.length === 0) {
    return <Empty icon={IconServerOff} title="No worker has joined yet" />;
  }
  const count = (condition: Condition): number =>
    workers.filter((worker) => conditionOf(worker) === condition).length;
  return (
    <>
      <div className="shares" aria-hidden="true">
        {conditions.filter(count).map((condition) => (
          <span
            key={condition}
            className={`share share-${condition}`}
            style={{ flexGrow: count(condition) }}
          />
        ))}
      </div>
      <ul className="counts">
        {conditions.map((condition) => (
          <li key={condition} className={count(condition) === 0 ? "dim" : ""}>
            <ConditionSign condition={condition} />
            <strong>{count(condition)}</strong>
          </li>
        ))}
      </ul>
    </>
  );
}
