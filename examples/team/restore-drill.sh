#!/bin/sh
# Back up a bank in PostgreSQL, restore the copy beside it, and compare both: a backup that nobody restored is a hope.
# Readers and writers go on meanwhile.   restore-drill.sh postgresql://bank@db.example/bank [FILE]
set -eu
bank=$1
copy=${2:-$(mktemp -d)/bank-$(date -u +%Y-%m-%d).db}
case $bank in *\?*) beside="$bank&schema=restore_drill" ;; *) beside="$bank?schema=restore_drill" ;; esac
case $bank in *schema=*) beside=$(printf %s "$bank" | sed 's/schema=[^&]*/schema=restore_drill/') ;; esac

reasoningbank --bank "$bank" backup "$copy"
reasoningbank --bank "$copy" verify
# Into a schema beside the bank: every row is checked there before it takes its place.
reasoningbank --bank "$beside" recover "$copy" --yes
reasoningbank --bank "$beside" verify
echo "The copy $copy can be restored: 'reasoningbank --bank $bank recover $copy' would put it in the bank's place."
echo "What the drill made is the schema restore_drill: drop it with 'DROP SCHEMA restore_drill CASCADE'."
