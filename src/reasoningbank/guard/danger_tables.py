"""Kinds of danger, and the tables by which they are known: options, programs, variables, and advice in words."""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern

FETCHES = "fetches from outside"
PIPED = "runs what another program printed"
RIGHTS = "runs with more rights"
DELETES = "deletes or destroys"
DISCARDS = "discards changes"
OVERWRITES = "overwrites what was pushed"
DROPS = "drops data"
FORCES = "is forced"
SKIPS_HOOKS = "gets past hooks and checks"
SKIPS_TESTS = "leaves out tests"
SKIPS = "switches off a check"
SENDS = "sends data out"
RUNS_CODE = "runs code that fetches, decodes or destroys"
INJECTS = "has a program run what a setting says"
UNREAD = "is too long to be looked through"

# ---------------------------------------------------------------- options of whichever program

OPTIONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (SKIPS_HOOKS, pattern(r"--no-?verify(?:=true)?|--no-?gpg-?sign|--no-?check\S*|--skip-?checks?\S*"
                          r"|--no-?hooks?|--no-?pre-?commit")),
    (SKIPS_TESTS, pattern(
        r"-D(?:maven\.test\.)?skip\S*|-DskipTests\S*|-Dmaven\.test\.failure\.ignore\S*|--passWithNoTests"
        r"|--deselect\S*"
        r"|--exclude-?tests?\S*|--no-?tests?|--skip-?tests?|--ignore=\S*test\S*|-x(?:test|check)"
    )),
    (FORCES, pattern(r"--force(?:-yes|-all|-overwrite|-depends|-conflicts|-delete|-unsafe)?(?:=true)?|--yolo"
                     r"|--overwrite-?all")),
    (SKIPS, pattern(
        r"--skip(?:[-=A-Z]\S*)?|--insecure\S*|--allow-?(?:unauthenticated|insecure\S*|root|untrusted|downgrades"
        r"|unsafe\S*)"
        r"|--trusted-?host\S*|--no-?sandbox|--disable-?\S*(?:security|sandbox|auth|verif|check|ssl|tls|valid"
        r"|protect|sign)\S*"
        r"|--dangerously\S*|--unsafe\S*|--break-system-packages|--no-?strict\S*|--exit-zero|--nodeps|--nosignature"
        r"|--nogpgcheck|--no-?gpg-?checks?|--no-?fail\S*|--tls-?verify=(?:false|0)|--no-?ssl\S*"
        r"|--ssl-?no-?verify|--no-?tls\S*"
        r"|--no-?auth\S*|--no-?validat\S*|--no-?signature\S*|--no-?integrity|--no-?protect\S*|--no-?preserve-root"
        r"|--strict-ssl=false|--verify[-=](?:no|false|0)|--legacy-peer-deps|--accept-all\S*"
        r"|--ignore-checksum\S*"
    )),
    (RIGHTS, pattern(r"--privileged(?:=true)?|--cap-add\S*|--security-opt\S*|--userns=host|--pid=host")),
    (INJECTS, pattern(r"--(?:upload|receive)-pack\S*|--checkpoint-action\S*|--use-compress-program\S*"
                      r"|-javaagent:\S*|ProxyCommand\S*"
        r"|-oProxyCommand\S*|ext::\S*")),
)  # fmt: skip
MORE_OPTIONS = pattern(r"StrictHostKeyChecking[= ](?:no|off|accept-new)|UserKnownHostsFile[= ]/dev/null"
                       r"|core\.hooksPath\S*"
    r"|commit\.gpgsign=false|http\.sslVerify(?:=(?:false|0))?|strict-ssl(?:=false)?|sslVerify=false")  # fmt: skip
RUN_BY_GIT = pattern(r"(?:core\.(?:sshCommand|fsmonitor|pager|editor|askpass)|protocol\.ext\.allow"
                     r"|alias\.\w+=!\S*|credential\.helper=!\S*"
    r"|diff\.external|url\.\S+\.insteadof)\b.*")  # fmt: skip

# ---------------------------------------------------------------- programs, by their words

BY_PROGRAM: tuple[tuple[frozenset[str], str, re.Pattern[str]], ...] = tuple(
    (frozenset(names.split()), kind, pattern(source))
    for names, kind, source in (
        ("rm", DELETES, (r" -[a-zA-Z]{0,9}[rRf][a-zA-Z]{0,9} | --(?:recursive|force|no-preserve-root) |"
                        r" (?:\S*/)?\*+ | [~/]/? ")),
        ("shred wipefs mkswap userdel deluser dropdb fdisk parted sgdisk diskutil srm", DELETES, r""),
        ("rmdir del erase rd", DELETES, r"(?i) /[sqf] "),
        ("remove-item ri rm", DELETES, r"(?i) -(?:recurse|force|r|fo)\b"),
        ("format format-volume clear-disk", DELETES, r"(?i) (?:[a-z]:|-\w+)"),
        ("find", DELETES, r" -delete "),
        ("truncate", DELETES, r" (?:-s ?0|--size[= ]0)\b"),
        ("dd", DELETES, r" of=/dev/(?!null|stdout|stderr)"),
        ("mv", DELETES, r" /dev/null "),
        ("rsync", DELETES, r" --delete\S* "),
        ("terraform tofu terragrunt cdk pulumi vagrant serverless sls sam copilot tilt eksctl cdktf", DELETES,
         r" -{0,2}(?:destroy|remove|delete)\b"),
        ("kubectl oc k", DELETES, r" delete | drain | replace \S*--force"),
        ("helm", DELETES, r" (?:uninstall|delete|del) "),
        ("docker podman docker-compose", DELETES,
         (r" prune | volume (?:rm|remove) | down (?:\S+ ){0,20}(?:-v|--volumes|--rmi) | (?:rm|rmi) (?:\S+"
         r" ){0,20}(?:-[a-z]{0,9}f[a-z]{0,9}|-[a-z]{0,9}v[a-z]{0,9}|--force) ")),
        ("docker podman docker-compose", RIGHTS, (r"(?:-v|--volume)[ =](?:/|/etc|/var/run/docker\.sock"
                                                 r"|/root)(?::| )| --user[= ](?:root|0) ")),
        ("aws", DELETES, r" s3 (?:rm|rb) | (?:delete|terminate|deregister|destroy|purge)-\S+ | --delete "),
        (("gcloud az doctl flyctl fly heroku vercel netlify supabase firebase wrangler gsutil linode-cli hcloud"
         " oci"), DELETES,
         r" (?:delete|destroy|purge|rm|rb|db reset|pg:reset|apps:destroy) "),
        ("gh glab", DELETES, r" (?:repo|release|secret|run|cache|issue) delete "),
        ("npm pnpm yarn cargo gem twine", DELETES, r" (?:unpublish|yank) "),
        ("rails rake bin/rails", DROPS, r" db:(?:drop|reset|purge|truncate_all|schema:load)\b"),
        ("php artisan", DROPS, r" (?:migrate:(?:fresh|reset|refresh)|db:wipe) "),
        ("python manage.py django-admin", DROPS, r" (?:flush|reset_db|sqlflush) "),
        ("prisma npx pnpm yarn bunx sequelize knex typeorm drizzle-kit", DROPS, (r" (?:migrate reset|db push"
                                                                                r" (?:\S+ ){0,20}--force-reset"
                                                                                r"|db:drop|schema:drop"
                                                                                r"|db:migrate:undo:all) ")),
        ("alembic", DROPS, r" downgrade base "),
        ("crontab", DELETES, r" -r "),
        ("kill", DELETES, r" -9 -1 "),
        ("shutdown reboot halt poweroff", DELETES, r""),
        ("iptables nft ip6tables", SKIPS, r" (?:-F|--flush|flush) "),
        ("ufw", SKIPS, r" (?:disable|reset) "),
        ("setenforce", SKIPS, r" 0 "),
        ("systemctl service launchctl", SKIPS, (r" (?:stop|disable|mask) (?:\S+ ){0,20}\S{0,40}(?:firewall|ufw"
                                               r"|apparmor|fail2ban|audit|defender|falcon|clamav)")),
        ("history", SKIPS, r" -c "),
        ("spctl csrutil", SKIPS, r"disable"),
        ("set-mppreference set-executionpolicy", SKIPS, r""),
        ("powershell pwsh", SKIPS, r"(?i) -(?:ep|ex\w*) (?:bypass|unrestricted) "),
        ("powershell pwsh", RUNS_CODE, r"(?i) -(?:e|ec|en\w*) \S"),
        ("chmod", RIGHTS, (r" (?:-\S+ ){0,9}(?:[0-7]?[0-7]?[0-7][2367]"
                          r"|[ugo]{0,3}[ao][ugo]{0,3}[+=][rx]{0,3}w[rwxX]{0,3}|\+rwx"
                          r"|[ugoa]{0,4}[+=][rwx]{0,3}s[rwxt]{0,3}|[246]7[0-7]{2}) ")),
        ("chown", RIGHTS, r" (?:root|0)(?::\S*)? "),
        ("setcap visudo pkexec doas sudo su runas nsenter insmod modprobe run0 gsudo sudoedit", RIGHTS, r""),
        ("icacls takeown", RIGHTS, r"(?i)everyone:|/f "),
        ("usermod gpasswd adduser addgroup", RIGHTS, r" (?:\S+ ){0,20}(?:sudo|wheel|docker|root|admin) "),
        ("curl", SKIPS, r" -[a-zA-Z]{0,9}k[a-zA-Z]{0,9} | --proxy-insecure "),
        ("wget", SKIPS, r" --no-check-certificate "),
        ("pytest py.test python tox nox uv poetry pipenv", SKIPS_TESTS, r" -k[ =]?not "),
        ("python pip uv uvx pipx poetry conda mamba", FETCHES,
         (r" install .*?(?:(?:-i|--index-url|--extra-index-url|--index|-f|--find-links|--default-index)[ =]"
          r"(?!\.|/|file:)\S|@ ?https?:|\bgit@)")),
        ("gradle gradlew", SKIPS_TESTS, r" -x (?:\S*:)?(?:test|check|lint)\w* | --exclude-task (?:test|check)"),
        ("mvn mvnw", SKIPS_TESTS, r" -(?:fn|fae) "),
        ("make", SKIPS, r" (?:-[a-z]{0,9}i[a-z]{0,9}|--ignore-errors) "),
        ("apt apt-get yum dnf", SKIPS, r" --nogpg\S* "),
        ("apt-key add-apt-repository rpm-key", FETCHES, r" (?:add|ppa:|-|https?:)"),
        ("npm pnpm yarn", SKIPS, r" (?:-f|audit=false|ignore-engines|--ignore-engines) "),
        ("npm pnpm yarn npx bunx bun", FETCHES,
         (r" (?:i|in|ins|install|add|ci|-y|--yes|dlx|exec|x|-g)(?: -\S+){0,9} (?:github:|gitlab:|git@"
         r"|bitbucket:)?[A-Za-z][\w-]*/[\w.-]+(?:#\S+)? (?!-)")),
        ("npx bunx", FETCHES, r"^ (?:-\S+ ){0,9}(?:github:)?[A-Za-z][\w-]*/[\w.-]+(?:#\S+)? "),
        ("npm pnpm yarn pip pip3 git", SKIPS, (r" (?:strict-ssl|http\.sslverify|http\.sslVerify"
                                              r"|global\.trusted-host) (?:false|0|\S+\.\S+) ")),
        ("nc ncat netcat socat telnet", SENDS, (r"^(?!.* -[a-zA-Z]{0,9}z)(?!.* (?:-h|--help|--version) )(?!.*"
                                               r" (?:localhost|127\.0\.0\.1|::1) ).* \S+ \S+ ")),
        ("nc ncat netcat", SENDS, r" -[a-z]{0,9}[ec] |--exec"),
        ("scp sftp rsync", SENDS, r" (?:[\w.-]+@)?[\w.-]{2,}::?(?!\\)\S* "),
        ("scp sftp ftp tftp sendmail mail mailx mutt rclone croc magic-wormhole transfer", SENDS, r" \S"),
        ("gh", SENDS, r" gist create "),
        ("ngrok localtunnel cloudflared bore", SENDS, r" (?:http|tcp|tunnel|--port|local) "),
        ("ssh", SENDS, r" -[a-zA-Z]{0,9}R"),
        ("certutil bitsadmin", FETCHES, r"(?i) [-/](?:urlcache|transfer|addfile)"),
        ("certutil", RUNS_CODE, r"(?i) [-/]decode"),
        ("aria2c axel lynx httpie xh iwr irm invoke-webrequest invoke-restmethod start-bitstransfer", FETCHES,
         r" (?!-h |--help |--version )[^\s-]"),
        ("svn hg bzr", FETCHES, r" (?:co|checkout|clone|branch) \S+:"),
        ("iex invoke-expression", PIPED, r""),
        ("mshta regsvr32 rundll32 wscript cscript", RUNS_CODE, r" \S"),
        ("vim vi nvim ed ex", RUNS_CODE, r" -c \S*!"),
    )
)  # fmt: skip
WHO = pattern(r"(?:sudo|doas|pkexec|run0|gsudo|runas)(?:\.exe)?")
PREFIXED = ((DELETES, pattern(r"mkfs(?:\.\w+)?|newfs\w*")), (RIGHTS, WHO))
GIT: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("push", OVERWRITES, pattern(r" (?:-[a-z]{0,9}f[a-z]{0,9}|--force\S*|--mirror|\+\S+) ")),
    ("push", DELETES, pattern(r" (?:--delete|-d|--prune|:\S+) ")),
    ("clean", DELETES, pattern(r"^(?!.* (?:-[a-z]{0,9}n[a-z]{0,9}|--dry-run) )")),
    ("branch", DELETES, pattern(r" (?:-D|--delete) ")),
    ("reset", DISCARDS, pattern(r" --hard ")),
    ("stash", DISCARDS, pattern(r" (?:drop|clear) ")),
    ("checkout restore", DISCARDS, pattern(r"^(?!.* --staged ).* (?:\.|--) ")),
    ("checkout switch", DISCARDS, pattern(r" (?:-f|--force|--discard-changes) ")),
    ("commit", SKIPS_HOOKS, pattern(r" -[a-z]{0,9}n[a-z]{0,9} ")),
    ("filter-branch filter-repo update-ref replace", DELETES, pattern(r"")),
    ("reflog gc prune", DELETES, pattern(r" (?:expire|delete|--prune=\S+|--expire=\S+) ")),
    ("worktree submodule", DELETES, pattern(r" (?:remove|deinit) (?:\S+ ){0,20}(?:-f|--force) ")),
    ("add rm mv", FORCES, pattern(r" -f ")),
)
NO_CHECK = pattern(
    r"GIT_SSL_NO_VERIFY|PIP_(?:TRUSTED_HOST|BREAK_SYSTEM_PACKAGES)|SKIP_\w+|\w+_SKIP(?:_\w+)?|\w*NO_?VERIFY\w*"
    r"|\w*INSECURE\w*"
    r"|DISABLE_\w*(?:SECUR|AUTH|SSL|TLS|VERIF|CHECK|SANDBOX|VALID)\w*|GONOSUM\w*|COMPOSER_ALLOW_SUPERUSER"
    r"|\w+_NO_SANDBOX"
)
CHECK = pattern(
    r"NODE_TLS_REJECT_UNAUTHORIZED|PYTHONHTTPSVERIFY|\w*(?:SSL|TLS|CERT)_?VERIFY\w*|\w*VERIFY_?(?:SSL|TLS"
    r"|CERT)\w*|\w*STRICT_SSL|GOSUMDB"
)
OFF = pattern(r"(?i)['\"]?(?:0|false|no|off|none|)['\"]?")
RUN_BY_SETTING = pattern(
    r"LD_(?:PRELOAD|AUDIT)|DYLD_\w+|PYTHONSTARTUP|PYTHONINSPECT|PYTHONBREAKPOINT|PERL5(?:OPT|DB)|BASH_ENV"
    r"|PROMPT_COMMAND"
    r"|GIT_SSH(?:_COMMAND)?|GIT_PROXY_COMMAND|GIT_EXTERNAL_DIFF|GIT_ASKPASS|SSH_ASKPASS|GIT_CONFIG\w*"
    r"|GIT_TEMPLATE_DIR"
    r"|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|\w*SHELL_HOOK|npm_config_script_shell|RUBYOPT|\w+_LAUNCHER|SUDO_ASKPASS"
)
CARRIES_CODE = pattern(
    r".*(?:--(?:require|import|loader|experimental-loader|eval)\b|-r[ =]|-javaagent|-agent(?:path|lib)|--rc)"
)
OPTIONS_SETTING = pattern(r"NODE_OPTIONS|(?:_?JAVA|JDK|MAVEN|GRADLE|SBT|CATALINA)\w*OPT\w*|MAKEFLAGS|PYTEST_ADDOPTS")
EDITOR = pattern(r"(?:GIT_|KUBE_|HG|SVN_)?(?:\w*EDITOR|VISUAL|\w*PAGER|BROWSER)")
LOOSE_PATH = pattern(r"(?:^|:)(?:\.{0,2}/?(?=:|$)|/(?:tmp|var/tmp|dev/shm)\b)")


# ---------------------------------------------------------------- lines, code, addresses

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "ash", "csh", "tcsh"})
INTERPRETERS = frozenset({"python", "node", "nodejs", "ruby", "perl", "php", "deno", "bun", "lua", "osascript", "pwsh",
    "powershell", "rscript", "tclsh", "pypy", "cmd"})  # fmt: skip
SPEAKERS = frozenset({"echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "ack", "which", "man", "type", "whereis",
    "help", "info", "alias", "pgrep", "open", "xdg-open", "gh", "glab", "test", "[", "jq", "yq", "say", "logger",
    "whatis", "apropos", "tldr", "history", "ping", "dig", "nslookup", "host", "command", "cd", "ls", "cat", "sed",
    "awk", "code"})  # fmt: skip
"""Programs to whom an address or a command is only a word."""
QUIET_GIT = frozenset({"log", "grep", "remote", "show", "blame", "tag", "diff", "shortlog", "describe"})
RUNNERS = frozenset({"xargs", "find", "watch", "parallel", "entr", "ssh", "docker", "podman", "kubectl", "su",
    "flock", "chroot", "script",
    "strace", "ltrace", "uv", "poetry", "pipenv", "npx", "yarn", "pnpm", "tmux", "screen", "nsenter",
    "vagrant", "docker-compose", "proxychains", "torsocks", "unshare", "gdb", "busybox", "toybox", "trap", "eval",
    "parallel-ssh", "start", "alias", "cmd", "wsl", "direnv", "dotenv", "nodemon", "concurrently", "systemd-run",
    "batch", "at", "hyperfine", "pwsh", "powershell"})  # fmt: skip
"""Programs that run what their words say."""
PLAIN_EVALS = pattern(
    r"[`$(\"\s]*(?:ssh-agent|direnv|pyenv|rbenv|nodenv|jenv|fnm|nvm|brew|minikube|docker-machine|starship|opam|zoxide"
    r"|conda|mamba|micromamba|mise|asdf|thefuck|dircolors|luarocks|register-python-argcomplete|atuin|rtx|keychain"
    r"|poetry env|hatch|gpg-agent|dbus-launch|resize|lesspipe|op|kubectl completion|pip completion|perl -I)\b"
)
INNER = pattern(r"\$\(([^()]*)\)|`([^`]*)`|[<>]\(([^()]*)\)")
FEEDS_SHELL = pattern(
    r"(?:^|[\s;&|(/])(?:(?:ba|z|da|k|fi|a)?sh|source|\.|eval|python[\d.]*|node|ruby|perl|php)\b(?:\s+-\w+)*\s+<\("
)
SETS_ENV = pattern(r"(?i)\$env:(\w+)\s*=\s*['\"]?([^\s'\";]*)")
SOCKET = pattern(r"/dev/(?:tcp|udp)/")
SWALLOWS = pattern(r"\|\|\s*(?:true|:|exit 0)(?![\w./-])|\bset \+e\b")
DISK = pattern(r"[^<]*>\|?\s*['\"]?/dev/(?:sd|hd|nvme|vd|xvd|disk|mapper|mmcblk|mem)\w*")
ASSIGNMENT = pattern(r"([A-Za-z_]\w*)\+?=(.*)", 16)
BRACES = pattern(r"\{([^{}\s]*,[^{}\s]*)\}")
CALL = pattern(r"\s*[A-Za-z_][\w.\-]*\(\s*[{)]")
IS_CODE = pattern(r"\s*(?:import \w|from \w+[\w.]* import |#!/\S*(?:python|node|ruby|perl))")
DROPPING = pattern(
    r"(?i)\b(?:drop\s+(?:table|database|schema|index|view|column|user|role)"
    r"|truncate\s+(?:table\s+)?[\w\"`.]+\s*(?:;|$|\")"
    r"|delete\s+from\s+[\w\"`.\[\]]+\s*(?:;|$|['\"]|where\s+(?:true|1\s*=\s*1)\b)"
    r"|flushall|flushdb|dropDatabase\s*\(|deleteMany\s*\(\s*(?:\{\s*\})?\s*\))"
)
DROPPING_SIGNS = ("drop", "truncate", "delete", "flush")
SWITCHING_SIGNS = ("verif", "reject")
DANGEROUS_CALL = pattern(
    r"\b(?:exec|eval|__import__|execSync|spawn(?:Sync)?|atob|system|popen|passthru|shell_exec|urlopen"
    r"|urlretrieve|rmtree"
    r"|unlinkSync|rmSync|rmdirSync|removedirs)\s*\(|child_process"
    r"|\bsubprocess\.(?:run|call|Popen|check|getoutput)|\bos\.(?:remove|unlink|exec\w+|spawn\w+)\s*\("
    r"|\brequests\.(?:get|post|put|delete|request|patch)\s*\(|\bsocket\.(?:socket|create_connection)\s*\("
    r"|\.Download(?:String|File)|FromBase64"
)
CODE = pattern(
    rf"{DANGEROUS_CALL.pattern}|\bbase64\b|\bmarshal\b|\bcodecs\.decode|fromhex|\bhttp\.client"
    rf"|\bsystem\b\s*['\"q]|CERT_NONE"
)
SWITCHED_OFF = pattern(
    r"(?:^|[\s,(])verify\s*=\s*False\b|rejectUnauthorized['\"]?\s*:\s*false|_create_unverified_context"
)

GIT_HOST = pattern(r"[\w.-]+@([\w.-]+):\S+")
WITH_VALUE = pattern(r"-[a-zA-Z]*[oHdXuwbcAmFTKeE]|--(?:output|header|data\S*|json|request|user|write-out"
                      r"|cookie\S*|user-agent"
    r"|max-time|form\S*|upload-file|retry\S*|referer|cacert|cert|key|connect-timeout|output-document|timeout"
    r"|tries)")  # fmt: skip
FETCHERS = frozenset({"curl", "wget", "http", "https"})
UPLOADS = pattern(
    r" (?:-[a-zA-Z]*[dFT]|--data\S*|--form\S*|--upload-file|--json|--post-(?:data|file)\S*|--body-file\S*) ?\S"
)


IFS = pattern(r"\$\{IFS[^}]*\}|\$IFS(?:\$\d)?")
IN_A_WORD = pattern(r"(?<=[a-z])(?:\$[@*]|\$\{[a-z]?\})(?=[a-z])")


GIT_SHORT = pattern(r"(?:[\w-]+\.)+(?:com|org|net|io|dev|sh)[:/]\S+")


FAMILY = pattern(r"[a-z]+")
CODE_OPTION = pattern(r"-(?:c|e|r|E|pe|ne|ple|lne|Command|command|p|-eval|-command|-print|-run)")


KNOWN_INSIDE = (
    frozenset(
        {"curl", "wget", "git", "rm", "dd", "chmod", "chown", "shred", "truncate", "mv", "find", "nc", "ncat", "scp"}
    )
    | SHELLS
    | {"python", "python3", "node", "perl", "ruby", "php", "psql", "mysql", "kubectl", "terraform", "npm", "pip"}
)
COMMAND_ARGUMENT = pattern(r"(?i)\"(?:command|cmd|script|line|shell|bash)\"\s*:\s*\[?\"((?:\\.|[^\"\\])*)\"")
VERSION = pattern(r"^(python|pip)[\d.]+$")
SHARED_FOLDER = pattern(r"/(?:tmp|dev/shm)\b")

# ---------------------------------------------------------------- advice in words

_CHECKS = (
    r"(?:tls|ssl|https?|certs?|certificates?|verif\w+|signatures?|security|firewall|sandbox\w*|selinux|apparmor"
    r"|antivirus|(?:pre-?commit |git )?hooks?"
    r"|checksums?|integrity|authenti\w+|authoriz\w+|csp|cors|csrf|2fa|mfa|lint\w*|type ?-?check\w*"
    r"|validation\w*|(?:\w+ )?(?:checks?|tests?)|protection|gatekeeper|defender|code review)"
)
_DATA = (
    r"(?:\.env\b|secrets?|credentials?|passwords?|passphrases?|tokens?|api ?keys?|(?:private |ssh |access"
    r" )?keys?|source code|contents?|database|dumps?|logs?"
    r"|environment(?: variables)?|config\w*|customer\w*|user data|data|files?|history|output|results?|it|everything)"
)
_PLACES = (
    r"(?:folders?|director(?:y|ies)|database|db|schema|(?:[\w`.]+ )?tables?|branch(?:es)?|bucket|volumes?"
    r"|cluster|namespace|backups?|history|repo(?:sitory)?|everything(?! (?:within|between|after|before|up)\b)"
    r"|production|prod|all (?:of )?(?:the |its |their )?(?:files|data|rows|records|users|orders)|whole \w+"
    r"|entire \w+|node_modules|home|root|disk|partition)"
)
IN_WORDS: tuple[tuple[frozenset[str], str, re.Pattern[str]], ...] = tuple(
    (frozenset(signs.split()), kind, pattern(f"(?i){source}"))
    for signs, kind, source in (
        ("disa deac turn swit bypa circ skip igno comm", SKIPS,
         (rf"\b(?:disabl(?:e|es|ed|ing)|deactivat\w+|turn(?:ed|ing)? off|switch(?:ed|ing)? off|bypass\w*"
                rf"|circumvent\w*|skip(?:s|ped|ping)?|ignor(?:e|es|ed|ing)"
                rf"|comment(?:ed|ing)? out)(?: (?:[\w'/-]+)){{0,3}}? {_CHECKS}\b")),
        ("turn", SKIPS,
         rf"\bturn(?:ed|ing)? (?:[\w'/-]+ ){{0,3}}?{_CHECKS} off\b"),
        ("without", SKIPS,
         (r"\bwithout (?:(?:first |any |running |doing |the |its |their |a |an )*)(?:verif\w+|checking"
                r"|signature|tests?\b|hooks?\b|validation|validating|code review|ssl|tls|certificate)")),
        ("stri veri tls ssl", SKIPS,
         r"\b(?:strict|verif\w+|tls|ssl)\b[^.\n]{0,20}\b(?:to|=) ?(?:false|off|0|none)\b"),
        ("dele remo eras clea wip wipe wipi purg dest drop trun", DELETES,
         (rf"\b(?:delet(?:e|es|ed|ing)|remov(?:e|es|ed|ing)|eras(?:e|es|ed|ing)|clear(?:s|ed|ing)?|wip(?:e|es|ed|ing)"
                  rf"|purg(?:e|es|ed|ing)|destroy\w*|drop(?:s|ped|ping)?|truncat\w+)"
                  rf"(?: (?:[\w'`./-]+)){{0,3}}? {_PLACES}(?![\w-])")),
        ("forc push rewr over", OVERWRITES,
         (r"\bforce[- ]?push\w*|\bpush(?:es|ed|ing)?\b[^.\n]{0,30}\b(?:with|by) force\b|\b(?:rewrit"
                     r"|overwrit)\w+ (?:the |its |our )?(?:\w+ )?history\b")),
        ("disc hard", DISCARDS,
         (r"\bdiscard(?:s|ed|ing)? (?:all |any |the |your |local |uncommitted )*(?:changes|work)\b"
                   r"|\bhard[- ]reset\w*")),
        ("send uplo post forw emai e-ma exfi leak tran past publ copy shar repo", SENDS,
         (rf"\b(?:send|upload|post|forward|e-?mail|exfiltrat\w+|leak|transmit|paste|publish|copy|share"
                rf"|report)(?:s|ing)?(?: (?:[\w'`./-]+)){{0,5}}? {_DATA}"
                rf"(?: (?:[\w'`./-]+)){{0,6}}? (?:to|at|into|with|via|on) (?:the |an? |our |this |their"
                rf" )?(?:https?:|[\w.-]+@|(?:[\w-]+\.)+[a-z]{{2,}}|(?:\w+ )?(?:server|endpoint|url|address"
                rf"|webhook|pastebin|bucket|channel|site|host|collector))")),
        ("send uplo post forw emai e-ma exfi leak tran past shar", SENDS,
         (r"\b(?:send|upload|post|forward|e-?mail|exfiltrat\w+|leak|transmit|paste|share)(?:s"
                r"|ing)?\b[^.\n]{0,40}?(?<!\w)(?:\.env\b|secrets?\b|credentials?\b|passwords?\b|(?:private|ssh"
                r"|api|access) keys?\b|tokens? (?:to|with)\b)")),
        ("root supe admi sudo elev worl writ", RIGHTS,
         (r"\bas (?:the )?(?:root|superuser)\b|\b(?:run|runs|running|execut\w+|start\w*|launch\w*"
                 r"|install\w*)\b[^.\n]{0,40}\bas (?:an? |the )?admin\w*|\bwith (?:root|admin\w*|sudo|elevated"
                 r"|superuser) (?:rights|privileges|permissions?|access)"
                 r"|\bworld[- ]writ\w+|\bwritable (?:for|by|to) (?:all|everyone|everybody|anyone|others)"
                 r"|\b(?:use|using|via|with) sudo\b")),
        ("down fetc retr grab inst clon pull", FETCHES,
         (r"\b(?:download|fetch|retriev|grab|install|clon|pull)(?:e|s|es|ed"
                  r"|ing)?\b[^.\n]{0,60}?\b(?:from (?:the )?(?:internet|web|url|site|gist|https?:)|install"
                  r" script|installer|setup script|remote script|binary from)")),
        ("http ftp ssh git", FETCHES,
         (r"\b(?:set|export|download|fetch|install|execute|run|load|source|pull|clone|import|upload"
                  r"|send|post|visit|point|configure|follow|apply|add|change|register)(?:s|ed"
                  r"|ing)?\b[^\n]{0,120}?(?P<url>\b(?:git\+)?(?:https?|ftp|ssh|git)://\S+)")),
        ("deco", RUNS_CODE,
         r"\bdecod(?:e|es|ed|ing)\b[^.\n]{0,60}\b(?:and|then) (?:run|execute|eval)"),
    )
)  # fmt: skip
