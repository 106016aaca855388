import { SegmentedControl, Title } from "@mantine/core";
import { IconServerOff } from "@tabler/icons-react";
import { useState } from "react";
import { useNavigate, useParams, useSearchParams } from "react-router";
import type { Worker } from "../../api/gen/types.ts";
import { useWorkers } from "../../api/use-workers.ts";
import { type Condition, conditionOf } from "../../api/worker-condition.ts";
import { Command } from "../../components/command.tsx";
import { useStaleClass } from "../../components/connection.tsx";
import { Loading } from "../../components/data-table.tsx";
import { Empty, NoMatch } from "../../components/empty.tsx";
import { SearchField } from "../../components/search-field.tsx";
import { conditionWord } from "../../components/state-sign.tsx";
import { useAddressView } from "../../components/use-address-view.ts";
import "./workers.css";
import { ConfirmAction, type PendingAction } from "./confirm-action.tsx";
import { WorkerDrawer } from "./worker-drawer.tsx";
import { type ListView, listWorkers, parseSortKey } from "./worker-list.ts";
import { WorkersTable } from "./workers-table.tsx";

const conditions: readonly Condition[] = ["active", "draining", "unreachable"];

export function Component() {
  const workers = useWorkers();
  const [view, setView] = useAddressView(viewOf, searchOf);
  const [pending, setPending] = useState<PendingAction>();
  const { workerId } = useParams();
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const stale = useStaleClass();
  return (
    <div className="page">
      <div className="page-head">
        <Title order={1}>Workers</Title>
        <Filters workers={workers ?? []} view={view} onView={setView} />
      </div>
      <div className={`card ${stale}`}>
        {workers === undefined ? (
          <Loading label="Workers" />
        ) : (
          <List workers={workers} view={view} onView={setView} onAction={setPending} />
        )}
      </div>
      <WorkerDrawer
        workerId={workerId}
        workers={workers}
        onAction={setPending}
        onClose={() => void navigate({ pathname: "/workers", search: search.toString() })}
      />
      <ConfirmAction pending={pending} onClose={() => setPending(undefined)} />
    </div>
  );
}

interface ListProps {
  readonly workers: readonly Worker[];
  readonly view: ListView;
  readonly onView: (change: Partial<ListView>) => void;
}

function List({
  workers,
  view,
  onView,
  onAction,
}: ListProps & { readonly onAction: (action: PendingAction) => void }) {
  if (workers.length === 0) {
    return (
      <Empty icon={IconServerOff} title="No worker has joined yet">
        <span>Workers register themselves. Start one with</span>
        <Command text={`npx capstan worker --join ${window.location.origin}`} />
      </Empty>
    );
  }
  const shown = listWorkers(workers, view);
  if (shown.length === 0) {
    return (
      <NoMatch
        what="worker"
        count={workers.length}
        onAll={() => onView({ text: "", condition: "all" })}
      />
    );
  }
  return <WorkersTable workers={shown} view={view} onView={onView} onAction={onAction} />;
}

function Filters({ workers, view, onView }: ListProps) {
  const count = (condition: Condition): number =>
    workers.filter((worker) => conditionOf(worker) === condition).length;
  return (
    <div className="page-filters">
      <SearchField
        label="Filter workers"
        placeholder="Filter by name, address, reason…"
        value={view.text}
        onText={(text) => onView({ text })}
      />
      <SegmentedControl
        size="xs"
        aria-label="State"
        value={view.condition}
        onChange={(value) => onView({ condition: value as ListView["condition"] })}
        data={[
          { value: "all", label: `All ${workers.length}` },
          ...conditions.map((condition) => ({
            value: condition,
            label: `${conditionWord(condition)} ${count(condition)}`,
          })),
        ]}
      />
    </div>
  );
}

function viewOf(search: URLSearchParams): ListView {
  return {
    text: search.get("q") ?? "",
    condition: conditions.find((condition) => condition === search.get("state")) ?? "all",
    sort: parseSortKey(search.get("sort") ?? "") ?? "name",
    descending: search.get("order") === "desc",
  };
}

/** The address parameters that differ from the default view. */
function searchOf({ text, condition, sort, descending }: ListView): Record<string, string> {
  return {
    ...(text !== "" && { q: text }),
    ...(condition !== "all" && { state: condition }),
    ...(sort !== "name" && { sort }),
    ...(descending && { order: "desc" }),
  };
}
