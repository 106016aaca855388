/** Backups of a Capstan that runs, and what puts them back. */
export { type BackupDone, runBackup } from "./run-backup.ts";
export { type RestoreDone, runRestore } from "./run-restore.ts";
