/** Everything known about one worker. */
import { Button, Drawer, Group } from "@mantine/core";
import { IconHistory, IconServerOff } from "@tabler/icons-react";
import { type ReactNode, useMemo } from "react";
import { useClusterState } from "../../api/cluster.ts";
import { samplesMax } from "../../api/cluster-state.ts";
import type { Worker } from "../../api/gen/types.ts";
import { addressOf, conditionOf } from "../../api/worker-condition.ts";
import { useStaleClass } from "../../components/connection.tsx";
import { Empty } from "../../components/empty.tsx";
import { Sparkline } from "../../components/sparkline.tsx";
import { ConditionSign } from "../../components/state-sign.tsx";
import {
  factNumber,
  formatAgo,
  formatClock,
  formatDuration,
  formatMoment,
  formatPercent,
} from "../../format.ts";
import { AdmissionText } from "./admission-text.tsx";
import type { PendingAction } from "./confirm-action.tsx";
import { describeFact } from "./describe-fact.ts";

interface WorkerDrawerProps {
  /** Undefined when the drawer is closed. */
  readonly workerId: string | undefined;
  readonly workers: readonly Worker[] | undefined;
  readonly onAction: (action: PendingAction) => void;
  readonly onClose: () => void;
}

export function WorkerDrawer({ workerId, workers, onAction, onClose }: WorkerDrawerProps) {
  const worker = workers?.find(({ worker_id }) => worker_id === workerId);
  return (
    <Drawer
      opened={workerId !== undefined}
      onClose={onClose}
      position="right"
      size="md"
      title={workerId ?? ""}
    >
      {worker !== undefined && <Details worker={worker} onAction={onAction} />}
      {worker === undefined && workers !== undefined && (
        <Empty icon={IconServerOff} title="No such worker">
          It may have been dropped.
        </Empty>
      )}
    </Drawer>
  );
}

type DetailsProps = Pick<WorkerDrawerProps, "onAction"> & { readonly worker: Worker };

function Details({ worker, onAction }: DetailsProps) {
  const stale = useStaleClass();
  const choose = (action: PendingAction["action"]) => (): void => onAction({ action, worker });
  return (
    <div className={stale}>
      <div className="drawer-state">
        <ConditionSign condition={conditionOf(worker)} />
        <span className="dim">{worker.state_reason}</span>
      </div>
      <Group gap="xs">
        {worker.drain_requested ? (
          <Button variant="default" onClick={choose("undrain")}>
            Take work again
          </Button>
        ) : (
          <Button variant="default" onClick={choose("drain")}>
            Drain…
          </Button>
        )}
        {conditionOf(worker) !== "active" && (
          <Button variant="default" onClick={choose("drop")}>
            Drop…
          </Button>
        )}
      </Group>
      <Now worker={worker} />
      <History workerId={worker.worker_id} />
      <Identity worker={worker} />
    </div>
  );
}

function Now({ worker }: { readonly worker: Worker }) {
  const { live } = worker;
  const cpu = useClusterState((state) => state.cpuSamples.get(worker.worker_id));
  const facts = Object.entries(live?.facts ?? {})
    .filter(([name]) => name !== "cpu_ratio") // It is already in the line above.
    .map(([name, value]) => describeFact(name, value));
  const ratio = factNumber(live?.facts, "cpu_ratio");
  return (
    <Section title={live?.session === true ? "Now" : "When it was last heard"}>
      {cpu !== undefined && (
        <div className="drawer-cpu">
          <Sparkline
            samples={cpu}
            samplesMax={samplesMax}
            top={1}
            label={`CPU over the last ${samplesMax} seconds; now ${formatPercent(ratio)}`}
          />
          <div className="sparkline-note">
            <span>CPU</span>
            <span>{formatPercent(ratio)}</span>
          </div>
        </div>
      )}
      <dl className="facts">
        <dt>Admission</dt>
        <dd>
          <AdmissionText worker={worker} />
        </dd>
        <dt>Round trip</dt>
        <dd>{formatDuration(live?.rtt_ms)}</dd>
        <dt>Last answer</dt>
        <dd>{formatAgo(live?.last_answer_ms_ago)}</dd>
        {facts.map(({ name, value }) => (
          <FactPair key={name} name={name} value={value} />
        ))}
      </dl>
    </Section>
  );
}

function Identity({ worker }: { readonly worker: Worker }) {
  return (
    <Section title="Identity">
      <dl className="facts">
        <FactPair name="Control address" value={addressOf(worker)} mono />
        <FactPair name="Data address" value={`${worker.host_name}:${worker.data_port}`} mono />
        <FactPair name="Incarnation" value={worker.incarnation} mono />
        <FactPair name="Capacity" value={String(worker.capacity)} />
        <FactPair name="Version" value={worker.software_version} />
        <FactPair name="Registered" value={formatMoment(worker.registered_at_ms)} />
        <FactPair name="In this state since" value={formatMoment(worker.state_changed_at_ms)} />
      </dl>
    </Section>
  );
}

function History({ workerId }: { readonly workerId: string }) {
  const all = useClusterState((state) => state.changes);
  const changes = useMemo(
    () => all.filter((change) => change.workerId === workerId),
    [all, workerId],
  );
  return (
    <Section title="Changes since this page was opened">
      {changes.length === 0 ? (
        <div className="dim history-none">
          <IconHistory size={15} /> None so far.
        </div>
      ) : (
        <ol className="history">
          {changes.map(({ seenAtMs, condition, reason }) => (
            <li key={`${seenAtMs} ${condition}`}>
              <time className="dim">{formatClock(seenAtMs)}</time>
              <ConditionSign condition={condition} />
              <span className="dim">{reason}</span>
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="drawer-section">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

interface FactPairProps {
  readonly name: string;
  readonly value: string;
  readonly mono?: boolean;
}

function FactPair({ name, value, mono = false }: FactPairProps) {
  return (
    <>
      <dt>{name}</dt>
      <dd className={mono ? "mono" : ""}>{value}</dd>
    </>
  );
}
