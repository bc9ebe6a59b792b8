"""Names of services whose settings are mostly keys, and whether a name or a sentence has one of them.

From public lists of what issues keys, without those that are everyday words or names of programs.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import pairwise

from reasoningbank.core.patterns import pattern

_SERVICES = """
abbysale abstractapi abusech abuseipdb accuweather adafruit adobe adyen adzuna aerisweather aeroworkflow
africastalking aftership agoraio ai21 airbrake airbyte aircall airship airtable airvisual aiven akeyless alchemy
alconost alegra algolia alibaba alienvault alpaca alphavantage ambee amplitude ankr anthropic anypoint apacta api2cart
apideck apiflash apifonica apify apilayer apimatic apitemplate apollo apolloio appcenter appcues appdynamics appfollow
appointedd appsynergy apptivo appveyor aquasec artifactory artsy asana ashby assemblyai atera atlassian audd auth0
autoklose autopilot avalara avaza aviationstack aws axiom axonaut aylien ayrshare azure azuredevops bamboohr
bannerbear baremetrics basistheory beamer beebole besnappy besttime betterstack betteruptime bigcommerce bigmodel
billomat binance bitbar bitbucket bitcoinaverage bitfinex bitgo bitly bitmex bitrise bitstamp bittrex bitwarden
blameless blazemeter blockfrost blocknative blynk bombbomb borgbase botpress box braintree branch brandfetch brave
braze brex brightlocal browserstack browshot bscscan buddyci buddyns bugfender bugherd bugsnag buildkite bulksms bunny
bunnycdn buttercms bybit caflou calcom calendarific calendly calorieninja campayn capsulecrm cartesia cashboard
cashfree caspio censys cerebras cexio chargebee chargify chartmogul chatbase chatfuel checkly checkmarket checkoutcom
checkvist chocolatey circleci civo clarifai clearbit clerk clevertap clickhelp clicksend clickup cliengo clinchpad
clockify clockworksms closecrm cloudant cloudconvert cloudelements cloudflare cloudimage cloudinary cloudmersive
cloudns cloudplan cloudsight cloudsmith cloudways cloverly clubhouse clustdoc codacy codeberg codeclimate codecov
codefresh codemagic codequiry codeship cohere coinapi coinbase coingecko coinlayer coinlib coinmarketcap cometchat
commercejs companyhub configcat confluent contentful contentstack convertapi convertkit convier copyscape coralogix
couchbase countrylayer courierapi covalent coveralls craftmypdf createsend crossbrowsertesting crowdin crowdstrike
cryptocom cryptocompare currencycloud currencyfreaks currencylayer currencyscoop currentsapi customerguru customerio
cyberark d7network dailyco dareboost dashlane dashscope databox databricks datadog datafire datocms dbtcloud deel
deepai deepgram deepinfra deepl deepseek demio descope detectify detectlanguage dfuse dialpad diffbot diggernaut
digitalocean discord disqus distribusion dnscheck dnsimple docker dockerhub docparser documo docusign doppler
dotmailer dovico dronahq droneci dropbox duffel duply dwolla dynadot dynalist dynatrace dyspatch dyte easyinsight
easypost ebay ecwid edamam edenai edgecast edusign eightbyeight elastic elasticemail elasticpath elevenlabs
emailoctopus enablex etherscan ethplorer etsy eventbrite everhour evernote eversign exchangerateapi exoscale facebook
faceplusplus fastforex fastly fastspring fdroid feedier feedly fetchrss fibery figma filestack finage
financialmodelingprep findl finicity finnhub firebase firehydrant fivetran fixer fixerio flagsmith fleetbase flickr
flightapi flightlabs flightstats flowdash flowdock flowflu flutterwave flyio forgerock formbucket formcraft formio
formsite formstack foursquare frameio freshbooks freshchat freshdesk friendlycaptcha frontegg fullcontact fullstory
fusebill fusionauth fxmarket gateio gcore geckoboard gemfury gengo geoapify geocodify geocodio geoipifi getemail
getgeoapi getgist getresponse getstream gitea github gitlab gitter gladia glassnode gnews gocanvas gocardless godaddy
gorgias goshippo gosquared gotomeeting grafana graphcms graphhopper greenhouse greynoise groovehq groq growthbook
gtmetrix guardianapi gumroad gusto gyazo happyscribe harness hashicorp hcaptcha helius hellosign helpcrunch helpscout
heremaps heroku hetzner heygen hightouch hiveage hockeyapp holidayapi honeybadger honeycomb hotjar hubspot huggingface
hunter hunterio huobi hybiscus hybridanalysis hygraph hypeauditor hypertrack ibm iconfinder iexcloud imagekit imgbb
imgur imperva incidentio infisical influxdb infobip infracost infura insightly instabot instabug instagram instana
integromat intercom interseller intrinio invoiceocean ipapi ipdata ipgeolocation ipify ipinfo ipinfodb ipquality
ipregistry ipstack iterable iyzico jelastic jira jotform jsonbin jumpcloud jumpseller kagi kakaotalk kaleyra karmacrm
kayako keenio keycdn kickbox kinsta kiteconnect klaviyo klipfolio kontent koyeb kraken kucoin kylas labelbox lacework
landbot langfuse langsmith languagelayer lark lastfm launchdarkly leadfeeder lemlist lendflow leverco lexigram
lightstep linear linkedin linode liveagent livekit livestorm loadmill lob localytics locationiq logdna loggly
loginradius logrocket logtail logzio lokalise looker loyverse lunchmoney luno lusha madkudu magicbell mailboxlayer
mailchimp mailerlite mailersend mailgun mailjet mailmodo mailsac malwarebazaar mandrill mapbox mapquest maptiler
marketstack mattermost mavenlink maxio maxmind meaningcloud mediastack meistertask meraki mercadopago mercury mesibo
messagebird messari metaapi metrilo mezmo midtrans mindmeister miro mistral mixcloud mixmax mixpanel mockaroo moengage
mojohelpdesk mollie monday mongodb monkeylearn moonclerk moosend moralis mouseflow msg91 mux myfreshworks myintervals
namecheap nasdaq neon nessus netbird nethunt netlify neutrinoapi neverbounce newrelic newsapi newscatcher nexmo
nftport ngrok nicehash nicereply nightfall nordigen northflank notion novita npm nsone nubela nuget numverify
nutritionix nutshell nvidia nylas nytimes oanda ocrspace okta okx omise omnisend onbuka onedesk onelogin onepagecrm
onepassword onesignal onwaterio oopspam openai opencage opencagedata opendatasoft opengraphr openrouter opensea openuv
openvsx openweather openweathermap opsgenie optidash optimizely ovh ovhcloud ovsx owlbot owm packagist paddle pagekite
pagerduty paloalto pandadoc pandascore paperform papertrail papyrs paralleldots parsehub parseur partnerstack passbase
pastebin paydirtapp paymo paymoapp paymongo paypal paystack payu pdflayer pdfmyurl pdfshift pendo peopledatalabs
pepipost perplexity phonepe pinata pinecone pingdom pingidentity pinterest pipedream pipedrive pivotaltracker pixabay
plaid planetscale planyo playht plivo podio poloniex polygonio porkbun positionstack postageapp posthog postman
postmark powrbot prefect prestashop printfection printful printify prismic prodpad profitwell propelauth prospectio
protocolsio proxycrawl pubnub pulumi purestake pushbullet pusher pusherbeams pyowm qase qualaroo qualys quandl qubole
quickbase quickbooks quickmetrics quicknode qwen rackspace rapid7 rapidapi rarible rawg raygun razorpay reachmail
rebrandly rechargepayments recurly redbooth rentman repairshopr replicate resend restpack retell revampcrm revolut
ringcentral riotgames rippling ritekit roboflow rocketreach rockset rollbar rootly route4me routee rownd rubygems
rudderstack runrunit runway runwayml salesblink salesflare salesforce salesloft salesmate samsara satismeter saucelabs
scaleway scalr scrapeapi scrapeowl scraperapi scraperbox scrapestack scrapfly scrapingant scrapingbee scrapingdog
screenshotapi screenshotlayer scrutinizer securitytrails segment selectpdf sellfy semaphoreci sendbird sendcloud
sendgrid sendinblue sendoso sendpulse sentinelone sentry serpapi serphouse serpstack sheety sherpadesk shipday
shipengine shippo shipstation shodan shopify shopware shotstack shutterstock sightengine signalwire signaturit signoz
sigopt siliconflow simfin simplesat simplybook simplynoted simvoly sinch siteleaf skrappio skybiometry slack smartlook
smartsheet smartsheets smartystreets smooch smsapi snipcart snovio snowflake snowplow snyk sonar sonarcloud sonarqube
sourcegraph sparkpost speechmatics splitio splunk spoonacular sportradar sportsmonk spotify squadcast square
squarespace squareup sslmate stabilityai stackpath stadiamaps statsig statuscake statuspage statuspal stitchdata
stockdata storecove stormboard stormglass storyblok storychief strava streak streamio stripe stytch sugester sumologic
supabase supertokens supportbee surveymonkey surveysparrow survicate swiftype symbl synthesia sysdig tableau tailscale
tallyfy taxjar teamcity teamgate teamviewer tefter telegram telesign telnyx tenable tencent testflight testingbot
text2data textmagic thehive theoddsapi thinkific thousandeyes ticketmaster tickettailor ticktick tidio tiingo timecamp
timekit todoist toggl toggltrack tokeet tomorrowio tomtom tradier transferwise transloadit travelpayouts travis
travisci trello turnstile turso twelvedata twilio twingate twitch twitchtv twitter tyntec typeform typetalk ubidots
uclassify unifyid unleash unplugg unsplash upcloud uplead uploadcare uproc upstash uptimerobot upwave urlscan userflow
userstack vapi vatlayer vbout veevavault vercel verimail veriphone versioneye victorops viewneo vimeo virustotal
visualcrossing voiceflow voicegain volcengine vonage voodoosms vouchery vpnapi vultr vyte wakatime walkscore wandb
weatherapi weatherbit weatherstack webengage webex webflow webscraping wechat wepay whoxy wistia wiz woocommerce
woodpecker woopra wordsapi workable workos worksnaps workstack worldcoinindex worldpay worldweather wpengine wrike
xata xendit xero yandex yelp youneedabudget yousign youtrack zapier zendesk zenkit zenrows zenscrape zenserp zeplin
zerobounce zerotier zhipu zilliz zipbooks zipcodeapi zipcodebase zoho zonkafeedback zoominfo zscaler zulip zuora
"""
"""Of what stands for a value under such a name alone, most is a key."""
_KEYS_ARE_UUIDS = """
ai21 anypoint codecov deepai guardian heroku kucoin messagebird opsgenie pinecone postmark snyk splunk squarespace
statuspage upstash
"""
_WORDS = pattern(r"[a-z][a-z0-9]+|[A-Z][a-z0-9]+|[A-Z0-9]+")
_NO_KEY = "id ids url uri host sha hash digest version image tag ref commit channel user name team org"
_NO_KEY_IN_A_NAME = """
checksum md5 sha256 sha1 release revision integrity etag fingerprint cursor trace span request session public pub bucket
region site file path
"""


@lru_cache(maxsize=1024)
def names_a_service(name: str) -> bool:
    """`algolia`, `DD_algolia`: a service, and nothing that says which of its ids, hosts or versions it is."""
    return speaks_of_a_service(name) and _no_keys_of_a_name().isdisjoint(_words(name))


def speaks_of_a_service(text: str) -> bool:
    """The same of a stretch of text."""
    services, no_key, _ = _sets()
    words = _words(text)
    return not services.isdisjoint(words) and no_key.isdisjoint(words)


def has_uuids_for_keys(name: str) -> bool:
    """Whether a name is of a service whose keys look like any id."""
    return names_a_service(name) and not _sets()[2].isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    """The words of a name, and each with the next: `customer.io`, `newRelic`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return [*words, *(first + second for first, second in pairwise(words))]


@cache
def _no_keys_of_a_name() -> frozenset[str]:
    return frozenset(_NO_KEY_IN_A_NAME.split())


@cache
def _sets() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    return frozenset(_SERVICES.split()), frozenset(_NO_KEY.split()), frozenset(_KEYS_ARE_UUIDS.split())
